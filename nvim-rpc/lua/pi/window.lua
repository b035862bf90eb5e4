-- Windows on the conversation.

local api = vim.api
local M = {}

--- Shows the conversation; the focus stays where it is.
function M.open(session)
  local buf = require('pi.render').buffer(session)
  if #vim.fn.win_findbuf(buf) == 0 then
    local before = api.nvim_get_current_win()
    vim.cmd('botright vertical sbuffer ' .. buf)
    vim.wo.linebreak = true
    api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buf), 0 })
    api.nvim_set_current_win(before)
  end
end

return M
