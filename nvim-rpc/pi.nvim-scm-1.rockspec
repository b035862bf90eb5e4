-- What package tools want to know. In a clone: luarocks make nvim-rpc/pi.nvim-scm-1.rockspec
rockspec_format = '3.0'
package = 'pi.nvim'
version = 'scm-1'
source = { url = 'git+file://.' }
description = {
  summary = 'A coding agent in Neovim',
  detailed = 'A conversation with a language model that reads and changes your buffers.',
  license = 'MIT',
  labels = { 'neovim' },
}
dependencies = { 'lua == 5.1' }
build = {
  type = 'make',
  build_target = 'nvim',
  install_target = 'install',
  install_variables = { PREFIX = '$(PREFIX)' },
}
