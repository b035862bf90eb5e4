-- The buffer to write prompts in.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local api = vim.api

local function open()
  vim.cmd('Pi ask')
  vim.cmd('stopinsert')
  equal(vim.bo.filetype, 'pi-input')
end

local function written()
  return table.concat(api.nvim_buf_get_lines(0, 0, -1, true), '\n')
end

function tests.asking_nothing_opens_it_and_return_sends()
  agent.record({ { text = 'Hello.' } })
  open()
  agent.press('isay hello<CR>in two lines<Esc>')
  agent.press('<CR>')
  agent.await_text('❯ say hello\n❯ in two lines')
  agent.await_text('Hello.')
  equal(written(), '')
end

function tests.a_key_sends_while_inserting()
  agent.record({ { text = 'Hello.' } })
  open()
  agent.press('isay hello<C-s>')
  agent.await_text('❯ say hello')
  agent.await_text('Hello.')
end

-- What no agent took is there to be sent again, whyever.
function tests.a_failed_start_gives_the_text_back()
  agent.record({ { text = 'Hello.' } })
  open()
  agent.await('session_start')
  vim.cmd('Pi stop')
  agent.options({ restrict = '/nonexistent' })
  agent.press('isay hello<CR>in two lines<C-s>')
  agent.await_text('! the folder to restrict to')
  equal(written(), 'say hello\nin two lines')
  agent.options({ restrict = suite.dir, bin = '/nonexistent/pi-nvim' })
  agent.press('<CR>')
  equal(written(), 'say hello\nin two lines')
  agent.was_told('/nonexistent/pi-nvim')
  agent.options({ bin = '/bin/false' })
  agent.press('<CR>')
  agent.await_text('pi-nvim ended with code 1')
  equal(written(), 'say hello\nin two lines')
  agent.options({ bin = vim.env.PI_NVIM })
  agent.press('<CR>')
  agent.await_text('Hello.')
  equal(written(), '')
end

function tests.history_keeps_the_draft()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  open()
  agent.press('ifirst<C-s>')
  agent.await_text('One.')
  agent.press('isecond<C-s>')
  agent.await_text('Two.')
  agent.press('idraft<Esc>')
  local function after(key)
    agent.press(key)
    return written()
  end
  equal(after('<C-p>'), 'second')
  equal(after('<C-p>'), 'first')
  equal(after('<C-p>'), 'first')
  equal(after('<C-n>'), 'second')
  equal(after('<C-n>'), 'draft')
end

function tests.questions_of_before_are_in_the_history()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('by command')
  vim.cmd('Pi restart')
  agent.await('transcript')
  open()
  agent.press('<C-p>')
  equal(written(), 'by command')
  vim.cmd('silent! %delete')
end

function tests.a_command_of_pi_is_run()
  agent.record({ { text = 'One.' } })
  open()
  agent.press('i/close<C-s>')
  check(not agent.window(), 'still shown')
  agent.shows_not('/close')
end

function tests.a_path_is_no_command()
  agent.record({ { text = 'One.' } })
  open()
  agent.press('i/etc is a folder<C-s>')
  agent.await_text('❯ /etc is a folder')
end

function tests.mentions_and_commands_are_completed()
  agent.record({ { text = 'One.' } })
  suite.write('some_file.txt', '')
  open()
  local offered
  local complete = vim.fn.complete
  vim.fn.complete = function(_, items)
    offered = items
  end
  agent.press('ilook at @some<Tab><Esc>')
  equal(offered, { '@some_file.txt' })
  agent.press('cc@bu<Tab><Esc>')
  equal(offered, { '@buffer' })
  agent.press('cc/mod<Tab><Esc>')
  equal(offered, { '/model' })
  vim.fn.complete = complete
end

function tests.a_selection_goes_along_from_the_buffer()
  agent.record({
    expect = { 'a.txt, lines 2 to 3, with unsaved changes', 'TWO\nthree' },
    blocks = { { text = 'One.' } },
  })
  suite.write('a.txt', 'one\ntwo\nthree\nfour\n')
  vim.cmd('edit a.txt')
  api.nvim_buf_set_lines(0, 1, 2, true, { 'TWO' })
  vim.cmd('2,3Pi ask')
  vim.cmd('stopinsert')
  equal(written(), '@a.txt:2-3 ')
  agent.press('Awhy?<C-s>')
  agent.await_text('❯ @a.txt:2-3 why?')
  agent.await_text('One.')
  vim.cmd('silent! bwipeout! a.txt')
end

function tests.closing_keeps_what_was_written()
  agent.record({ { text = 'One.' } })
  open()
  agent.press('iunfinished<Esc>')
  agent.press('q')
  check(vim.bo.filetype ~= 'pi-input', 'still open')
  vim.cmd('Pi close')
  open()
  equal(written(), 'unfinished')
  vim.cmd('silent! %delete')
end

agent.run()
