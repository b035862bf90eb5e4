-- What the demonstration does in a Neovim that has loaded nothing else: see run.

vim.opt.shortmess:append('I')
vim.opt.number = true
vim.opt.laststatus = 2
vim.cmd('filetype plugin on | syntax on | runtime plugin/pi.lua')

vim.g.pi = {
  bin = vim.env.PI_NVIM,
  model = vim.env.PI_DEMO_MODEL,
  permissions = 'yolo',
}

local function tell(text)
  vim.schedule(function()
    vim.cmd('redraw')
    vim.api.nvim_echo({ { text, 'MoreMsg' } }, false, {})
  end)
end

-- The row of the table that is missing, in the middle of the window.
vim.fn.search('^5 V')
vim.cmd('normal! zz')
require('pi').on('agent_end', function()
  tell('Done. ]c: see the change   :Pi reject: take it back   :qa!: end')
end)
vim.schedule(function()
  require('pi').ask('./check fails. Find out why and mend it.')
  tell('pi looks for the reason; its edit lands in this window')
end)
