-- What users and other plugins may call.

local M = {}

-- What the newest User autocommand of pi brought; Neovim 0.7 has no data for them.
M.data = nil

--- Sets options, as vim.g.pi does. Need not be called.
---@param options table
function M.setup(options)
  vim.g.pi = vim.tbl_extend('force', vim.g.pi or {}, options or {})
end

--- Asks in the session of the current directory.
---@param text string
function M.ask(text)
  require('pi.command').run({ args = 'ask ' .. text, bang = false, range = 0, line1 = 0, line2 = 0 })
end

--- Shows the conversation; the focus stays where it is.
function M.open()
  require('pi.window').open(require('pi.session').ensure())
end

--- Calls fn(event, session) for each event of a type; '*' stands for all.
---@return fun() off ends it
function M.on(kind, fn)
  return require('pi.bus').on(kind, fn)
end

return M
