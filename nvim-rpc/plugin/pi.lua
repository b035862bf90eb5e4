if vim.g.loaded_pi then
  return
end
vim.g.loaded_pi = true

vim.api.nvim_create_user_command('Pi', function(options)
  require('pi.command').run(options)
end, {
  nargs = '*',
  range = true,
  bang = true,
  bar = false,
  desc = 'The coding agent: a question, or a subcommand (:Pi help)',
  complete = function(lead, line, pos)
    return require('pi.command').complete(lead, line, pos)
  end,
})
