-- What the test files share. A file adds functions to suite.tests and ends with suite.run().

local M = { tests = {} }

-- A folder of this run, with links followed.
M.dir = vim.loop.fs_realpath(vim.env.TMPDIR)
M.plugin = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h:h')

function M.check(condition, what)
  if not condition then
    error(what, 2)
  end
end

function M.equal(got, wanted)
  if not vim.deep_equal(got, wanted) then
    error(('got %s, wanted %s'):format(vim.inspect(got), vim.inspect(wanted)), 2)
  end
end

function M.wait(condition, what)
  if not vim.wait(20000, condition, 10) then
    error('waited in vain for ' .. what, 2)
  end
end

function M.write(path, text)
  vim.fn.mkdir(vim.fn.fnamemodify(path, ':h'), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
  return path
end

function M.read(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

-- Runs the tests in the order of their names; Neovim ends with an error when one fails.
function M.run()
  local names, failed = vim.tbl_keys(M.tests), 0
  table.sort(names)
  vim.cmd('cd ' .. vim.fn.fnameescape(M.dir))
  for _, name in ipairs(names) do
    local ok, err = xpcall(M.tests[name], debug.traceback)
    if package.loaded['pi.rpc'] then
      require('pi.rpc').stop()
    end
    vim.cmd('silent! %bwipeout!')
    io.write(ok and 'passed ' or 'FAILED ', name, ok and '' or '\n' .. tostring(err), '\n')
    failed = failed + (ok and 0 or 1)
  end
  io.write(('%d passed, %d failed\n'):format(#names - failed, failed))
  vim.cmd(failed > 0 and 'cquit' or 'qall!')
end

return M
