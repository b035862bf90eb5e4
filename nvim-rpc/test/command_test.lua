-- The command :Pi, its subcommands and their completion.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal

local function completed(line)
  return vim.fn.getcompletion(line, 'cmdline')
end

function tests.a_bar_belongs_to_the_text()
  agent.record({ { text = 'One.' } })
  agent.ask('what does a | b do?')
  agent.shows('❯ what does a | b do?')
end

function tests.a_subcommand_that_takes_no_range_says_so()
  agent.record({ { text = 'One.' } })
  vim.cmd('1Pi open')
  agent.was_told(':Pi open takes no range')
  vim.cmd('Pi! abort')
  agent.was_told(':Pi! abort: there is no such form')
end

function tests.others_add_subcommands()
  agent.record({ { text = 'One.' } })
  local got
  require('pi.command').register('shout', {
    desc = 'shouts',
    range = true,
    run = function(command)
      got = command
    end,
    complete = function(lead, words)
      return { lead .. #words }
    end,
  })
  vim.cmd('1Pi shout a b')
  equal({ got.args, got.words, got.range, got.line1 }, { 'a b', { 'a', 'b' }, 1, 1 })
  equal(completed('Pi sh'), { 'shout' })
  equal(completed('1,2Pi shout x y'), { 'y1' })
end

function tests.an_error_is_told_in_a_line()
  agent.record({ { text = 'One.' } })
  require('pi.command').register('fail', {
    desc = 'fails',
    run = function()
      error('this went wrong', 0)
    end,
  })
  vim.cmd('Pi fail')
  agent.was_told('this went wrong')
end

function tests.names_positions_levels_and_paths_are_completed()
  agent.record({ { text = 'One.' } })
  suite.write('some_file.txt', '')
  equal(completed('Pi abo'), { 'abort' })
  equal(completed('1,1Pi abo'), { 'abort' })
  equal(completed('Pi open b'), { 'bottom' })
  equal(completed('Pi think m'), { 'minimal', 'medium' })
  equal(completed('Pi ask look at @some'), { '@some_file.txt' })
  equal(completed('Pi look at @quick'), { '@quickfix' })
  equal(completed('Pi add some'), { 'some_file.txt' })
  check(vim.tbl_contains(completed('Pi '), 'resume'), 'no resume')
end

function tests.models_are_those_of_the_agent()
  agent.record({ { text = 'One.' } })
  vim.env.ANTHROPIC_API_KEY = 'x'
  local models = completed('Pi model claude')
  vim.env.ANTHROPIC_API_KEY = nil
  check(#models > 2 and models[1]:find('^anthropic/claude'), vim.inspect(models))
  vim.cmd('Pi model ' .. models[1])
  local event = agent.await('model_changed')
  equal('anthropic/' .. event.model.id, models[1])
  agent.shows('· model: ')
  vim.cmd('Pi think high')
  agent.await('thinking_level_changed', 'level', 'high')
  -- A new conversation has the same.
  agent.events = {}
  vim.cmd('Pi new')
  agent.await('session_start')
  equal(agent.session().chosen, { model = models[1], thinking = 'high' })
end

function tests.an_unknown_model_or_level_is_told()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi think hard')
  agent.await_text('! ')
  agent.shows('medium')
  vim.cmd('Pi new')
  agent.ask('go')
  agent.shows('One.')
end

function tests.options_that_are_wrong_are_told()
  agent.record({ { text = 'One.' } })
  agent.options({ position = 'north', nonsense = 1 })
  vim.cmd('Pi open bottom')
  agent.was_told('vim.g.pi.position must be one of right, bottom, tab, float, auto')
  agent.was_told('unknown option "nonsense"')
end

-- Neovim's own vim.notify, which has lain in two places, would show all of a long message and
-- ask for a key; that of somebody else gets it whole.
function tests.a_message_is_one_line_unless_somebody_else_shows_it()
  local notify, long = vim.notify, ('word '):rep(100)
  for source, whole in pairs({
    ['@vim/_editor.lua'] = false,
    ['@vim/_core/editor.lua'] = false,
    ['@mine.lua'] = true,
  }) do
    local passed
    local function pass(text)
      passed = text
    end
    vim.notify = load('local pass = ... return function(text) pass(text) end', source)(pass)
    vim.cmd('messages clear')
    require('pi.notify')(long)
    suite.wait(function()
      return passed or vim.fn.execute('messages'):find('pi: word')
    end, source)
    equal({ source, passed == 'pi: ' .. long }, { source, whole })
    local line = vim.trim(vim.fn.execute('messages'))
    check(#line < vim.o.columns, line)
  end
  vim.notify = notify
end

function tests.help_lists_the_subcommands()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi help')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  check(text:find(':Pi', 1, true) and text:find('abort', 1, true), text)
end

-- The model of an old conversation is told with its first request, and is not a choice.
function tests.a_choice_outlives_a_look_at_an_old_conversation()
  agent.record({ { text = 'One.' } })
  agent.ask('first')
  local id = agent.session().id
  vim.cmd('Pi stop')
  vim.env.ANTHROPIC_API_KEY = 'x'
  agent.events = {}
  vim.cmd('Pi model ' .. completed('Pi model claude')[1])
  vim.cmd('Pi think high')
  agent.await('thinking_level_changed', 'level', 'high')
  agent.await('model_changed')
  vim.env.ANTHROPIC_API_KEY = nil
  local chosen = vim.deepcopy(agent.session().chosen)
  check(chosen.model:find('^anthropic/'), chosen.model)
  equal(chosen.thinking, 'high')
  vim.cmd('Pi resume ' .. id)
  agent.await('transcript')
  agent.session():emit({
    type = 'model_changed',
    model = { id = 'old', provider = 'other' },
    thinkingLevel = 'low',
  })
  equal(agent.session().model.id, 'old')
  equal(agent.session().chosen, chosen)
end

agent.run()
