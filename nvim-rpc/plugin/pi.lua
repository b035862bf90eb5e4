if vim.g.loaded_pi then
  return
end
vim.g.loaded_pi = true

vim.api.nvim_create_user_command('Pi', function(command)
  require('pi').command(command.args)
end, {
  nargs = '*',
  desc = 'Ask the coding agent, or: open, abort, allow, always, deny, stop',
  complete = function(lead)
    return require('pi').complete(lead)
  end,
})
