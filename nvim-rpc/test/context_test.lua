-- What goes along with a prompt.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local context = require('pi.context')
local api = vim.api

local function expanded(text)
  local result
  context.expand(text, agent.session(), function(expansion)
    result = expansion
  end)
  suite.wait(function()
    return result
  end, 'the text')
  return result
end

local function edit(name, text)
  suite.write(name, text)
  vim.cmd('edit ' .. name)
end

function tests.a_text_without_mentions_stays()
  equal(expanded('mail me@example.com, or @nobody'), 'mail me@example.com, or @nobody')
end

function tests.what_is_not_there_is_left_out()
  vim.cmd('enew')
  equal(expanded('see @missing.txt:3-4 and @selection'), 'see @missing.txt:3-4 and @selection')
end

function tests.lines_of_an_open_file_come_from_its_buffer()
  edit('a.sh', 'one\ntwo\nthree\n')
  vim.bo.filetype = 'sh'
  api.nvim_buf_set_lines(0, 1, 2, true, { 'TWO' })
  equal(
    expanded('see @a.sh:2-3.'),
    'see @a.sh:2-3.\n\na.sh, lines 2 to 3, with unsaved changes:\n```sh\nTWO\nthree\n```'
  )
end

function tests.lines_of_another_file_come_from_the_disk()
  suite.write('b.txt', 'one\n```\nthree\n')
  equal(expanded('@b.txt:2'), '@b.txt:2\n\nb.txt, lines 2 to 2:\n````\n```\n````')
end

function tests.what_stands_in_backticks_is_not_run()
  expanded('@~/`touch${IFS}' .. vim.fn.getcwd() .. '/run`:1-2')
  check(not vim.loop.fs_stat('run'), 'it was run')
end

function tests.an_unnamed_buffer_has_lines_too()
  vim.cmd('enew')
  api.nvim_buf_set_lines(0, 0, -1, true, { 'one', 'two' })
  local mention = context.range(api.nvim_get_current_buf(), 1, 2, vim.fn.getcwd())
  check(expanded('x ' .. mention):find('\none\ntwo\n', 1, true), expanded('x ' .. mention))
end

function tests.buffer_selection_quickfix_and_diagnostics()
  edit('a.txt', 'one\ntwo\nthree\n')
  vim.cmd('normal! 2GVj\27')
  vim.fn.setqflist({ { filename = 'a.txt', lnum = 3, text = 'wrong' } })
  vim.diagnostic.set(api.nvim_create_namespace('test'), 0, {
    { lnum = 0, col = 2, message = 'bad\nidea', severity = vim.diagnostic.severity.WARN },
  })
  local text = expanded('@buffer @selection @quickfix @diagnostics')
  for _, part in ipairs({
    'a.txt, lines 1 to 3:\n```\none\ntwo\nthree\n```',
    'a.txt, lines 2 to 3:\n```\ntwo\nthree\n```',
    'The quickfix list, 1 entries:\n```\na.txt:3: wrong\n```',
    '1 diagnostics of the editor:\n```\na.txt:1:3: warning: bad idea\n```',
  }) do
    check(text:gsub('```text', '```'):find(part, 1, true), part .. ' is not in ' .. text)
  end
end

function tests.the_changes_that_git_sees()
  suite.write('a.txt', 'one\n')
  vim.fn.system('git init -q . && git add . && git -c user.name=x -c user.email=x@x commit -qm x')
  suite.write('a.txt', 'two\n')
  check(expanded('@diff'):find('\n-one\n+two\n', 1, true), expanded('@diff'))
end

function tests.without_git_it_is_said()
  check(expanded('@diff'):find('[git failed', 1, true), expanded('@diff'))
end

function tests.the_list_goes_along_once()
  agent.record({ { text = 'One.' } })
  edit('a.txt', 'one\ntwo\n')
  vim.cmd('Pi add')
  vim.cmd('2Pi add')
  vim.cmd('Pi add diag')
  vim.cmd('Pi add other.txt')
  equal(context.label(agent.session()), '@a.txt @a.txt:2-2 @diagnostics @other.txt')
  vim.cmd('Pi drop diag')
  equal(
    expanded('go'),
    'go\n\nFiles to look at: @a.txt @other.txt\n\na.txt, lines 2 to 2:\n```text\ntwo\n```'
  )
  equal(expanded('go'), 'go')
  vim.cmd('Pi add qf')
  vim.cmd('Pi drop')
  equal(context.label(agent.session()), '')
end

function tests.what_is_large_is_cut()
  edit('a.txt', ('x'):rep(99) .. '\n' .. (('y'):rep(99) .. '\n'):rep(2000))
  local text = expanded('@buffer')
  check(#text < 70000 and text:find('y\n[cut]\n', 1, true), #text)
end

agent.run()
