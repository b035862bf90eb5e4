-- Another Neovim, driven over its channel as by a user at the keyboard.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local M = {}
M.__index = M

function M.start(options)
  local nvim = vim.env.PI_TEST_NVIM or vim.v.progpath
  local command = { nvim, '--embed', '--headless', '-u', 'NONE', '-i', 'NONE', '-n' }
  local child = setmetatable({ id = vim.fn.jobstart(command, { rpc = true }) }, M)
  if options and options.ui then
    child:request('nvim_ui_attach', 80, 24, vim.empty_dict())
  end
  child:command('set rtp^=' .. suite.plugin .. ' | runtime plugin/pi.lua')
  child:command('cd ' .. vim.fn.fnameescape(suite.dir))
  child:request('nvim_set_var', 'pi', vim.g.pi or vim.empty_dict())
  return child
end

function M:request(...)
  return vim.rpcrequest(self.id, ...)
end

function M:command(text)
  return self:request('nvim_command', text)
end

function M:eval(text)
  return self:request('nvim_eval', text)
end

-- Runs Lua with the arguments as `...`.
function M:lua(code, ...)
  return self:request('nvim_exec_lua', code, { ... })
end

function M:mode()
  return self:request('nvim_get_mode')
end

-- Types keys and waits until they have been read.
function M:type(keys)
  self:request('nvim_input', keys)
  self:eval('1')
end

-- Types keys that lead to a mode.
function M:type_to(keys, mode)
  self:request('nvim_input', keys)
  suite.wait(function()
    return self:mode().mode == mode
  end, 'mode ' .. mode)
end

function M:lines()
  return self:request('nvim_buf_get_lines', 0, 0, -1, true)
end

-- Serves a request of the agent as rpc.lua does, waiting while it must wait.
function M:serve(op, path, version, changes)
  local answer
  suite.wait(function()
    answer = self:lua('return require("pi.buffer").serve(...)', op, path, version, changes)
    return answer ~= vim.NIL and answer ~= nil
  end, op)
  return answer
end

-- Makes changes to a fresh snapshot.
function M:apply(path, ...)
  return self:serve('apply', path, self:serve('snapshot', path).version, { ... })
end

function M:stop()
  vim.fn.jobstop(self.id)
  vim.fn.jobwait({ self.id }, 5000)
end

return M
