-- Questions: lines in the conversation that are answered from anywhere, and never a dialog.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local questions = require('pi.questions')

local function touching(...)
  local turns = {}
  for _, name in ipairs({ ... }) do
    table.insert(turns, { agent.call('bash', { command = 'touch ' .. name }) })
  end
  table.insert(turns, { { text = 'Done.' } })
  agent.record(unpack(turns))
  agent.options({ permissions = 'ask' })
  vim.cmd('Pi go')
end

local function exists(name)
  return vim.loop.fs_stat(vim.fn.getcwd() .. '/' .. name) ~= nil
end

function tests.a_question_shows_its_answers_and_is_answered_by_command()
  touching('yes', 'no')
  agent.await_text('?1 bash wants to run: touch yes')
  agent.shows('ga allow   gA always   gd deny   (or :Pi allow 1 …)')
  agent.shows('always: this exact command')
  agent.was_told('?1')
  vim.cmd('Pi allow')
  agent.await_text('?1 bash wants to run: touch no')
  agent.shows('touch yes  — allowed')
  vim.cmd('Pi deny 1 it is not needed')
  agent.await('agent_end')
  agent.shows('touch no  — denied: it is not needed')
  agent.shows('$ touch no  — denied')
  equal({ exists('yes'), exists('no') }, { true, false })
end

function tests.keys_answer_the_question_at_the_cursor()
  touching('yes', 'no')
  agent.await_text('touch yes')
  agent.go_to('?1 bash')
  agent.press('ga')
  agent.await_text('touch no')
  agent.go_to('touch no')
  agent.press('gd')
  agent.await('agent_end')
  equal({ exists('yes'), exists('no') }, { true, false })
end

function tests.always_is_for_the_session()
  touching('one', 'one')
  agent.await_text('touch one')
  agent.go_to('touch one')
  agent.press('gA')
  agent.await('agent_end')
  agent.shows('allowed for the session')
  equal(#vim.tbl_filter(function(entry)
    return entry.event.type == 'question'
  end, agent.events), 1)
end

function tests.an_abort_takes_the_question_back()
  touching('never')
  agent.await_text('touch never')
  equal(#questions.waiting(), 1)
  vim.cmd('Pi abort')
  agent.await('agent_end')
  equal(#questions.waiting(), 0)
  agent.shows('— withdrawn')
  vim.cmd('Pi allow')
  agent.was_told('nothing is asked')
  check(not exists('never'), 'the command ran')
end

function tests.the_end_of_the_agent_takes_it_back()
  touching('never')
  agent.await_text('touch never')
  vim.cmd('Pi stop')
  equal(#questions.waiting(), 0)
end

function tests.the_plugin_asks_in_the_same_way()
  agent.record({ { text = 'One.' } })
  local answers = {}
  local function ask(what)
    return questions.ask({
      lines = { what },
      diff = '@@ -1 +1 @@\n-old\n+new',
      answers = { 'once', 'deny' },
      labels = { once = 'accept', deny = 'reject' },
      on_answer = function(answer, reason)
        table.insert(answers, { what, answer, reason })
      end,
    })
  end
  ask('first')
  local second = ask('second')
  ask('third')
  agent.shows('?2 second\n┃ @@ -1 +1 @@\n┃ -old\n┃ +new\n?   ga accept   gd reject')
  vim.cmd('Pi allow')
  agent.was_told('name one by its number: 1, 2, 3')
  vim.cmd('Pi always 1')
  agent.was_told('question 1 cannot be answered with always')
  questions.withdraw(second)
  vim.cmd('Pi deny 3 ugly')
  vim.cmd('Pi allow 1')
  equal(answers, { { 'third', 'deny', 'ugly' }, { 'first', 'once' } })
  agent.shows('?2 second  — withdrawn')
  agent.shows('?3 third  — reject: ugly')
  vim.cmd('Pi allow 9')
  agent.was_told('there is no question 9')
end

function tests.a_review_before_a_change_shows_the_diff()
  suite.write('a.txt', 'one\ntwo\n')
  agent.record(
    { agent.call('edit', { path = 'a.txt', edits = { { oldText = 'two', newText = '2' } } }) },
    { { text = 'Done.' } }
  )
  agent.options({ review = 'before' })
  vim.cmd('Pi go')
  agent.await_text('?1 edit wants to change a.txt')
  agent.shows('┃ -two\n┃ +2')
  agent.shows('ga allow   gd deny')
  equal(suite.read('a.txt'), 'one\ntwo\n')
  vim.cmd('Pi allow')
  agent.await('agent_end')
  equal(suite.read('a.txt'), 'one\n2\n')
end

agent.run()
