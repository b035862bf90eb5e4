-- A change that comes in the middle of what the user does in the same buffer.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h')
local suite, editor = dofile(here .. '/suite.lua'), dofile(here .. '/child.lua')
local tests, equal, check = suite.tests, suite.equal, suite.check
local path = suite.dir .. '/file.txt'

-- Runs test with an editor that shows a file of these lines.
local function with_file(text, test)
  suite.write(path, text)
  local child = editor.start()
  child:command('edit ' .. path)
  local ok, err = xpcall(test, debug.traceback, child)
  child:stop()
  if not ok then
    error(err, 0)
  end
end

local above = { 0, 0, 'new\nlines\n' }

function tests.insert()
  with_file('one\ntwo\n', function(child)
    child:type_to('jAab', 'i')
    equal(child:apply(path, above).saved, false)
    child:type('cd')
    child:type_to('<Esc>', 'n')
    equal(child:lines(), { 'new', 'lines', 'one', 'twoabcd' })
    -- Neovim 0.7 has no block of its own for what was typed afterwards.
    local newer = vim.fn.has('nvim-0.8') == 1
    if newer then
      child:command('undo')
      equal(child:lines(), { 'new', 'lines', 'one', 'twoab' })
    end
    child:command('undo')
    equal(child:lines(), { 'one', newer and 'twoab' or 'twoabcd' })
    child:command('undo')
    equal(child:lines(), { 'one', 'two' })
  end)
end

-- The selection stays on its text, so that what is deleted was meant.
function tests.visual()
  for _, keys in ipairs({ 'jVj', 'jvj$', 'j<C-v>jl' }) do
    with_file('one\ntwo\nthree\nfour\n', function(child)
      child:type(keys)
      local mode = child:mode().mode
      check(mode:find('^[vV\22]'), mode)
      equal(child:apply(path, above).status, 'ok')
      equal({ child:mode().mode, child:eval('line("v")'), child:eval('line(".")') }, { mode, 4, 5 })
      child:type_to('d', 'n')
      equal(child:lines()[3], 'one')
      equal(child:lines()[#child:lines()], 'four')
    end)
  end
end

-- An operator waits for its motion: the change comes after it.
function tests.operator()
  with_file('one\ntwo\nthree\n', function(child)
    local version = child:serve('snapshot', path).version
    child:type_to('jd', 'no')
    equal(
      child:lua('return require("pi.buffer").serve(...)', 'apply', path, version, { above }),
      vim.NIL
    )
    equal(child:lines(), { 'one', 'two', 'three' })
    child:type_to('d', 'n')
    equal(child:lines(), { 'one', 'three' })
    equal(child:serve('apply', path, version, { above }).status, 'stale')
  end)
end

function tests.select()
  with_file('one\ntwo\n', function(child)
    child:type_to('gh', 's')
    equal(child:lua('return require("pi.buffer").serve(...)', 'snapshot', path), vim.NIL)
    child:type_to('<Esc>', 'n')
    equal(child:apply(path, above).saved, true)
  end)
end

-- In the command-line window buffers can be changed, but the disk not be compared.
function tests.command_line_window()
  with_file('one\n', function(child)
    local function leave()
      child:request('nvim_input', ':q<CR>')
      suite.wait(function()
        return child:eval('getcmdwintype()') == ''
      end, 'the end of the command-line window')
    end
    child:type('q:')
    equal(child:eval('getcmdwintype()'), ':')
    equal(child:lua('return require("pi.buffer").serve(...)', 'snapshot', path), vim.NIL)
    leave()
    local version = child:serve('snapshot', path).version
    child:type('q:')
    equal(child:serve('apply', path, version, { above }).saved, true)
    equal(child:eval('getcmdwintype()'), ':')
    leave()
    equal(suite.read(path), 'new\nlines\none\n')
  end)
end

-- Text may not be changed while an <expr> map is worked out.
function tests.expression_map()
  with_file('one\n', function(child)
    local version = child:serve('snapshot', path).version
    child:command(
      [[nnoremap <expr> gx luaeval('vim.wait(9000, function() return vim.g.go end, 5) and ""')]]
    )
    child:request('nvim_input', 'gx')
    suite.wait(function()
      return child:lua('return require("pi.change").must_wait(0)')
    end, 'the map')
    equal(
      child:lua('return require("pi.buffer").serve(...)', 'apply', path, version, { above }),
      vim.NIL
    )
    child:request('nvim_set_var', 'go', true)
    equal(child:serve('apply', path, version, { above }).saved, true)
  end)
end

-- Plugins that save by themselves save what the user typed, and nothing is asked.
function tests.autosave()
  with_file('one\ntwo\n', function(child)
    child:command('autocmd TextChanged,TextChangedI,InsertLeave * silent! wall')
    child:type_to('Ax', 'i')
    equal(child:apply(path, { 5, 3, '2' }).status, 'ok')
    child:type_to('y<Esc>', 'n')
    equal(child:apply(path, { 0, 3, 'ONE' }).status, 'ok')
    equal(child:lines(), { 'ONExy', '2' })
    suite.wait(function()
      return suite.read(path) == 'ONExy\n2\n'
    end, 'the file')
    check(not child:mode().blocking, 'it asks something')
  end)
end

-- The window before, sizes and views are as they were.
function tests.windows()
  with_file(('x\n'):rep(100), function(child)
    child:command('vsplit | split | 50 | new | wincmd p | tabnew | tabprevious')
    local function layout()
      return child:lua([[
        local views = {}
        for _, win in ipairs(vim.api.nvim_list_wins()) do
          views[tostring(win)] = vim.api.nvim_win_call(win, vim.fn.winsaveview)
        end
        return { vim.fn.winlayout(), vim.fn.winnr(), vim.fn.winnr('#'), vim.fn.winrestcmd(),
          vim.fn.tabpagenr(), views }
      ]])
    end
    local before = layout()
    equal(child:apply(path, { 180, 1, 'y' }).saved, true)
    equal(layout(), before)
  end)
end

-- A file that is open in another Neovim, too, is opened to take a change back.
function tests.swap_files()
  suite.write(path, 'one\ntwo\n')
  local swap = 'set swapfile updatecount=200 directory=' .. suite.dir
  local other = editor.start()
  other:command(swap .. ' | edit ' .. path .. ' | preserve')
  check(#vim.fn.glob(suite.dir .. '/*.sw*', true, true) > 0, 'there is no swap file')
  local child = editor.start({ ui = true })
  child:command(swap)
  child:lua(
    [[
      local path, patch = ...
      require('pi.review').changed_on_disk(path, patch)
      vim.schedule(function()
        vim.cmd('Pi reject!')
      end)
    ]],
    path,
    '--- a\n+++ b\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n'
  )
  suite.wait(function()
    check(not child:mode().blocking, 'it asks something')
    return suite.read(path) == 'one\n2\n'
  end, 'the file')
  child:stop()
  other:stop()
end

suite.run()
