-- <C-c> is meant for what the user does. Neovim keeps it as a flag until it reads keys again,
-- and the flag makes the next API call of whatever runs fail with "Keyboard interrupt". What
-- runs by itself (events of the agent, timers) sets it aside and raises it again at its end.

local api = vim.api
local M = {}

local depth, aside = 0, false

--- Sets a <C-c> that came aside. Only within wrap().
function M.set_aside()
  if depth > 0 then
    local ok, err = pcall(api.nvim_eval, '1')
    aside = aside or not ok and tostring(err):find('interrupt', 1, true) ~= nil
  end
end

local function leave(ok, ...)
  depth = depth - 1
  if depth == 0 and aside then
    aside = false
    api.nvim_input('<C-c>')
  end
  if not ok then
    error(..., 0)
  end
  return ...
end

--- fn as something that <C-c> does not reach.
---@param fn function
---@return function
function M.wrap(fn)
  return function(...)
    depth = depth + 1
    M.set_aside()
    return leave(pcall(fn, ...))
  end
end

return M
