-- The editor of screen.sh, with nothing of the user's.

vim.opt.shortmess:append('IF')
vim.opt.laststatus = 2
vim.opt.ruler = false
vim.opt.statusline = '%f%m'
vim.opt.fillchars:append('vert:|')
vim.cmd('filetype plugin on | syntax on | runtime plugin/pi.lua')
vim.g.pi = {
  bin = vim.env.PI_NVIM,
  model = 'replay:' .. vim.env.TURNS,
  permissions = 'yolo',
  position = 'right',
}
