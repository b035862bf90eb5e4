-- What users and other plugins may call.

local M = {}

-- What the newest User autocommand of pi brought; Neovim 0.7 has no data for them.
M.data = nil

--- Sets options, as vim.g.pi does. Need not be called.
---@param options pi.Options
function M.setup(options)
  vim.g.pi = vim.tbl_extend('force', vim.g.pi or {}, options or {})
end

--- Asks in the session of the current directory.
---@param text string
function M.ask(text)
  require('pi.command').call('ask ' .. text)
end

--- Shows the conversation; the focus stays where it is.
function M.open()
  require('pi.window').open(require('pi.session').ensure())
end

--- The state of the session of the current directory for a status line, e.g.
--- "pi ⠋ model 12k/200k $0.03 ?1 +34-8"; '' without a session. vim.g.pi_status is the same.
---@return string
function M.statusline()
  return package.loaded['pi.status'] and require('pi.status').statusline() or ''
end

--- Calls fn(event, session) for each event of a type; '*' stands for all.
---@param kind string
---@param fn fun(event: table, session: pi.Session)
---@return fun() off ends it
function M.on(kind, fn)
  return require('pi.bus').on(kind, fn)
end

--- Adds a tool that runs in Neovim; see pi.Tool in pi/tools.lua.
---@param tool pi.Tool
function M.tool(tool)
  require('pi.tools').add(tool)
end

return M
