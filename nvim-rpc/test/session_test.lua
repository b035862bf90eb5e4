-- Conversations: one for each directory, kept on disk, found again.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local api = vim.api

function tests.directories_have_sessions_of_their_own()
  agent.record({ agent.call('bash', { command = 'pwd' }) }, { { text = 'Done.' } })
  agent.ask('what is it?')
  local first = agent.session()
  local one = vim.fn.getcwd()
  vim.fn.mkdir('other')
  vim.cmd('new | lcd other')
  agent.ask('and there?')
  local second = agent.session()
  check(first ~= second and first.connection and second.connection, 'one agent for both')
  check(first.id ~= second.id, 'one conversation')
  check(agent.shown(first):find('│ ' .. one, 1, true), agent.shown(first))
  check(agent.shown(second):find('│ ' .. one .. '/other', 1, true), agent.shown(second))
  check(not agent.shown(first):find('there', 1, true), agent.shown(first))
  -- In a buffer of a session it is that session.
  api.nvim_set_current_buf(require('pi.render').buffer(first))
  equal(agent.session(), first)
end

function tests.a_new_conversation_takes_the_window()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local win, id = agent.window(), agent.session().id
  vim.cmd('Pi! second')
  agent.await_text('❯ second')
  agent.await_text('One.')
  agent.shows_not('first')
  check(agent.session().id ~= id, 'the same conversation')
  equal(agent.window(), win)
  equal(api.nvim_buf_get_name(api.nvim_win_get_buf(win)), 'pi://' .. agent.session().id)
end

function tests.a_resumed_conversation_is_shown()
  agent.record({
    { thinking = 'Hm.' },
    { text = 'I look.' },
    agent.call('bash', { command = 'echo out; exit 2' }),
  }, { { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local id = agent.session().id
  vim.cmd('Pi name my work')
  vim.cmd('Pi new')
  agent.shows_not('first')
  vim.cmd('Pi resume ' .. id)
  agent.await('transcript')
  agent.shows('❯ first\n\n┆ Hm.\n\nI look.\n\n▸ $ echo out; exit 2  — exit 2\n│ out\n')
  agent.shows('One.')
  equal(agent.session().id, id)
  agent.ask('go on')
  agent.shows('Two.')
end

function tests.the_newest_conversation_goes_on()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local id = agent.session().id
  vim.cmd('Pi stop')
  vim.cmd('Pi continue')
  agent.await('transcript')
  agent.shows('❯ first')
  equal(agent.session().id, id)
end

function tests.a_restart_goes_on()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local id = agent.session().id
  vim.cmd('Pi restart')
  agent.await('transcript')
  equal(agent.session().id, id)
  agent.ask('second')
  agent.shows('Two.')
end

-- The agent of before holds the file until its process is over.
function tests.a_restart_in_the_middle_of_a_command_loses_nothing()
  agent.record(
    { agent.call('bash', { command = "trap '' TERM; echo go; sleep 600; sleep 600" }) },
    { { text = 'Two.' } },
    { { text = 'Three.' } }
  )
  vim.cmd('Pi first')
  agent.await_text('│ go')
  local file = agent.session().file
  vim.cmd('Pi restart')
  vim.cmd('Pi second')
  agent.await_text('Two.')
  equal(agent.session().file, file)
  vim.cmd('Pi restart')
  agent.ask('third')
  agent.shows_not('only read')
  local kept = suite.read(file)
  check(kept:find('"second"', 1, true) and kept:find('"third"', 1, true), kept)
end

function tests.conversations_are_completed_with_their_titles()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('what is | that?')
  local names = vim.fn.getcompletion('Pi resume ', 'cmdline')
  equal(#names, 1)
  check(names[1]:find('^%x+:what%-is%-that%?$'), names[1])
  vim.cmd('Pi new')
  vim.cmd('Pi resume ' .. names[1])
  agent.await('transcript')
  agent.shows('❯ what is | that?')
end

function tests.a_directory_that_is_gone_is_told()
  agent.record({ { text = 'One.' } })
  local gone = vim.fn.getcwd() .. '/gone'
  vim.fn.mkdir(gone)
  vim.cmd('cd ' .. gone)
  vim.fn.delete(gone, 'd')
  vim.cmd('Pi hello')
  agent.was_told('the current directory is gone')
  vim.cmd('cd ' .. suite.dir)
end

function tests.conversations_are_picked_from_a_list()
  agent.record({ { text = 'One.' } })
  agent.ask('first')
  vim.cmd('Pi new')
  vim.cmd('Pi resume')
  suite.wait(function()
    return api.nvim_win_get_config(0).relative ~= ''
  end, 'the list')
  check(api.nvim_get_current_line():find('messages  first'), api.nvim_get_current_line())
  equal(vim.wo.wrap, false)
  agent.press('<CR>')
  agent.await('transcript')
  agent.shows('❯ first')
end

function tests.a_list_that_does_not_come_is_told()
  agent.record({ { text = 'One.' } })
  suite.write('broken', '#!/bin/sh\necho "no library here" >&2\nexit 127\n')
  vim.loop.fs_chmod('broken', 493)
  agent.options({ bin = vim.fn.getcwd() .. '/broken' })
  vim.cmd('Pi resume')
  agent.was_told('pi-nvim ended with code 127')
  agent.was_told('no library here')
end

function tests.without_a_conversation_to_go_on_with_it_is_told()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi continue')
  agent.await('notice', 'level', 'error')
  agent.ask('then so')
  agent.shows('One.')
end

function tests.a_missing_program_is_told_with_the_remedy()
  agent.record({ { text = 'One.' } })
  agent.options({ bin = '/nonexistent/pi-nvim' })
  vim.cmd('Pi go')
  agent.was_told('/nonexistent/pi-nvim')
end

function tests.a_program_of_another_version_is_told_with_the_remedy()
  agent.record({ { text = 'One.' } })
  local rpc = require('pi.rpc')
  local protocol = rpc.protocol
  rpc.protocol = 99
  vim.cmd('Pi go')
  agent.await_text('install both')
  rpc.protocol = protocol
end

function tests.a_dead_program_is_told_and_started_again()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  vim.loop.kill(vim.fn.jobpid(agent.session().connection.channel), 'sigkill')
  agent.await_text('pi-nvim ended with code 137')
  agent.shows(':Pi restart goes on with this session')
  vim.cmd('Pi restart')
  agent.await('transcript')
  agent.ask('second')
  agent.shows('Two.')
end

function tests.after_its_death_the_next_question_goes_on()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local file = agent.session().file
  vim.loop.kill(vim.fn.jobpid(agent.session().connection.channel), 'sigkill')
  agent.await_text('pi-nvim ended with code 137')
  agent.ask('second')
  agent.shows('❯ first')
  agent.shows('Two.')
  equal(agent.session().file, file)
end

-- A slip in the name of another conversation does not end this one.
function tests.a_wrong_name_leads_back()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  local file = agent.session().file
  agent.events = {}
  vim.cmd('Pi resume nothing')
  agent.await('transcript')
  agent.await_text('begins with nothing')
  check(agent.shown():find('❯ first.*begins with nothing'), agent.shown())
  agent.ask('second')
  agent.shows('Two.')
  equal(agent.session().file, file)
end

function tests.a_buffer_that_was_wiped_comes_back()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  vim.cmd('bwipeout! ' .. require('pi.render').buffer(agent.session()))
  vim.cmd('Pi open bottom')
  agent.await_text('One.')
  agent.ask('second')
  agent.shows('Two.')
end

-- `:q!` unloads a buffer that is not written, and it may come back by its number.
function tests.a_buffer_that_was_unloaded_comes_back()
  agent.record({ { text = 'One.' } }, { { text = 'Two.' } })
  agent.ask('first')
  for _, command in ipairs({ 'Pi open bottom', 'sbuffer %d' }) do
    agent.go_to('❯ first')
    local old = api.nvim_get_current_buf()
    vim.cmd('q!')
    vim.cmd(command:format(old))
    agent.await_text('One.')
    equal(vim.fn.win_findbuf(require('pi.render').buffer(agent.session())), { agent.window() })
    equal(
      api.nvim_buf_get_name(api.nvim_win_get_buf(agent.window())),
      'pi://' .. agent.session().id
    )
  end
  agent.ask('second')
  agent.shows('Two.')
end

function tests.a_conversation_is_opened_by_its_name()
  agent.record({ { text = 'One.' } })
  agent.ask('first')
  local id = agent.session().id
  vim.cmd('Pi stop')
  vim.cmd('Pi close')
  vim.cmd('bwipeout! ' .. require('pi.render').buffer(agent.session()))
  agent.events = {}
  vim.cmd('edit pi://' .. id)
  agent.await('transcript')
  equal(api.nvim_win_get_buf(0), require('pi.render').buffer(agent.session()))
  equal(api.nvim_buf_get_name(0), 'pi://' .. id)
  agent.shows('❯ first')
end

function tests.a_conversation_of_elsewhere_works_there()
  agent.record(
    { { text = 'One.' } },
    { agent.call('bash', { command = 'pwd' }) },
    { { text = 'Two.' } }
  )
  local there = vim.fn.getcwd()
  agent.ask('first')
  local id = agent.session().id
  vim.fn.mkdir('other')
  vim.cmd('cd other')
  vim.cmd('Pi resume ' .. id)
  agent.await('transcript')
  agent.shows('this conversation works in')
  equal(agent.session().cwd, there)
  agent.ask('where?')
  agent.shows('│ ' .. there .. '\n')
  vim.cmd('Pi new')
  equal(agent.session().cwd, there .. '/other')
end

function tests.a_program_that_says_nothing_is_told()
  agent.record({ { text = 'One.' } })
  suite.write('silent', '#!/bin/sh\nexec sleep 600\n')
  vim.loop.fs_chmod('silent', 493)
  agent.options({ bin = vim.fn.getcwd() .. '/silent' })
  local defer = vim.defer_fn
  vim.defer_fn = function(fn)
    defer(fn, 100)
  end
  vim.cmd('Pi go')
  vim.defer_fn = defer
  agent.await_text('pi-nvim does not answer')
end

function tests.autocommands_tell_of_it()
  agent.record({ agent.call('bash', { command = 'true' }) }, { { text = 'One.' } })
  local seen = {}
  local group = api.nvim_create_augroup('test', {})
  api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'Pi*',
    callback = function(args)
      table.insert(seen, args.match)
      if args.match == 'PiToolStart' then
        equal(require('pi').data.toolName, 'bash')
      end
    end,
  })
  agent.ask('go')
  vim.cmd('Pi stop')
  api.nvim_del_augroup_by_id(group)
  equal(seen, {
    'PiSessionStart',
    'PiAgentStart',
    'PiTurnStart',
    'PiToolStart',
    'PiToolEnd',
    'PiTurnEnd',
    'PiTurnStart',
    'PiTurnEnd',
    'PiAgentEnd',
    'PiSessionEnd',
  })
end

function tests.a_failing_autocommand_stops_nothing()
  agent.record({ { text = 'One.' } })
  local group = api.nvim_create_augroup('test', {})
  api.nvim_create_autocmd('User', {
    group = group,
    pattern = 'PiTurnStart',
    command = 'throw "mine"',
  })
  agent.ask('go')
  api.nvim_del_augroup_by_id(group)
  agent.shows('One.')
end

function tests.the_status_line_tells_what_it_costs()
  agent.record({
    blocks = { { text = 'One.' } },
    usage = { input = 12000, output = 345 },
  }, { agent.call('bash', { command = 'echo go; sleep 600' }) })
  equal(require('pi').statusline(), '')
  agent.ask('go')
  suite.wait(function()
    return require('pi').statusline() == 'pi 12k'
  end, 'the count')
  equal(vim.g.pi_status, 'pi 12k')
  vim.cmd('Pi sleep')
  suite.wait(function()
    return require('pi').statusline():find('^pi [^%w ]+ 12k$')
  end, 'the wheel')
end

agent.run()
