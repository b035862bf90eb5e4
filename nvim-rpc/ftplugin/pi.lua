-- The buffer of a conversation.

if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
local undo = {}

local function map(lhs, action, desc)
  vim.keymap.set('n', lhs, function()
    require('pi.keys')[action]()
  end, { buffer = buf, nowait = true, desc = 'pi: ' .. desc })
  table.insert(undo, ('silent! nunmap <buffer> %s'):format(lhs:gsub('<', '<lt>')))
end

for _, key in ipairs(require('pi.keys').list) do
  map(unpack(key))
end

vim.bo[buf].buftype = 'nofile'
vim.bo[buf].bufhidden = 'hide'
vim.bo[buf].swapfile = false
vim.bo[buf].commentstring = ''
vim.b.undo_ftplugin = table.concat(undo, ' | ')
