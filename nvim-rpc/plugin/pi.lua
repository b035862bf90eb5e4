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

-- A conversation that a session file of Neovim, or the user, names: pi://ID.
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = vim.api.nvim_create_augroup('Pi', { clear = true }),
  pattern = 'pi://*',
  callback = function(args)
    require('pi.window').adopt(args.buf, args.match:sub(#'pi://' + 1))
  end,
})

-- Nothing is bound to keys but these names, e.g. `nmap <leader>p <Plug>(pi-toggle)`.
local function plug(name, command, desc)
  vim.keymap.set(
    'n',
    ('<Plug>(pi-%s)'):format(name),
    ('<Cmd>Pi %s<CR>'):format(command),
    { desc = desc }
  )
end
plug('toggle', 'toggle', 'pi: show or hide the conversation')
plug('ask', 'ask', 'pi: write a question')
plug('abort', 'abort', 'pi: stop the model and its tools')
plug('allow', 'allow', 'pi: answer a question with yes')
plug('always', 'always', 'pi: answer a question with yes, for this session')
plug('deny', 'deny', 'pi: answer a question with no')
plug('next-hunk', 'next', 'pi: go to the next change')
plug('prev-hunk', 'prev', 'pi: go to the change before')
plug('accept-hunk', 'accept', 'pi: keep the change under the cursor')
plug('reject-hunk', 'reject', 'pi: take back the change under the cursor')
vim.keymap.set(
  'x',
  '<Plug>(pi-ask)',
  ':Pi ask<CR>',
  { silent = true, desc = 'pi: write a question about these lines' }
)
