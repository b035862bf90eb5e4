-- Writing buffers to their files as the user would, and asking before a command runs that
-- would miss unsaved changes.

local api = vim.api
local bus = require('pi.bus')
local change = require('pi.change')
local config = require('pi.config')
local disk = require('pi.disk')
local M = {}

-- Writes a buffer, autocommands included. A file without a final line end stays so. Returns
-- nil, or why it was not written.
function M.write(buf)
  local bo = vim.bo[buf]
  local fix, confirm = bo.fixendofline, vim.o.confirm
  bo.fixendofline = fix and bo.endofline
  vim.o.confirm = false -- an error instead of a question
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd('silent write')
  end)
  vim.o.confirm = confirm
  if not api.nvim_buf_is_valid(buf) then
    return 'the buffer is gone'
  end
  bo.fixendofline = fix
  if bo.modified then
    return ok and 'Neovim did not write it' or tostring(err):match('E%d+:.*') or tostring(err)
  end
end

-- Files with unsaved changes below a folder.
local function unsaved(folder)
  return vim.tbl_filter(function(buf)
    return vim.bo[buf].modified and not vim.b[buf].pi_conflict
  end, disk.buffers_below(folder))
end

local function names(buffers)
  return table.concat(vim.tbl_map(change.name, buffers), ', ')
end

-- What could not be saved the command does not see: user and model are told.
local function write_all(buffers, session)
  for _, buf in ipairs(buffers) do
    local failure = M.write(buf)
    if failure then
      local text = ('%s was not saved: %s'):format(change.name(buf), failure)
      require('pi.notify')(text, vim.log.levels.WARN)
      pcall(session.notify, session, 'add_note', {
        text = 'Before the command ran, ' .. text .. '; it saw the file as it is on disk.',
      })
    end
  end
end

local function ask(request, reply, buffers)
  local session = request.session
  local word = #buffers == 1 and 'a file' or ('%d files'):format(#buffers)
  local id = require('pi.questions').ask({
    session = session,
    lines = { ('save %s before a command runs: %s'):format(word, names(buffers)) },
    answers = { 'once', 'deny' },
    labels = { once = 'save', deny = 'do not save' },
    on_answer = function(answer)
      session.bash_save = answer == 'deny' and 'never' or 'always'
      if answer ~= 'deny' then
        write_all(unsaved(request.path), session)
      end
      reply({ status = 'ok' })
    end,
  })
  request.on_withdraw = function()
    require('pi.questions').withdraw(id)
  end
end

--- A command is about to run: what it should see is saved, as `bash_save` says. With 'ask'
--- the user is asked once in a session.
function M.before_command(request, reply)
  -- What others did before is not the command's doing.
  disk.sync(request.path, function() end)
  local buffers = unsaved(request.path)
  local how = config.get('bash_save')
  how = how == 'ask' and request.session.bash_save or how
  if #buffers == 0 or how == 'never' then
    return { status = 'ok' }
  elseif how == 'always' then
    write_all(buffers, request.session)
    return { status = 'ok' }
  end
  ask(request, reply, buffers)
end

bus.on('session_renew', function(_, session)
  session.bash_save = nil
end)

return M
