-- The subcommands of :Pi for the conversation; those for changes are in pi.review and its
-- neighbours.

local command = require('pi.command')
local config = require('pi.config')

local function session()
  return require('pi.session').ensure()
end

local function show(s)
  if config.get('open_on_ask') then
    require('pi.window').open(s)
  end
end

local function ask(c, delivery)
  local text = vim.trim(c.args)
  if text == '' then
    require('pi').open()
    return
  end
  local s = session()
  show(s)
  s:prompt(text, delivery)
end

command.register('ask', {
  desc = 'ask; with a range about these lines',
  range = true,
  bang = true,
  run = ask,
})

command.register('open', {
  desc = 'show the conversation',
  run = function()
    require('pi.window').open(session())
  end,
})

command.register('toggle', {
  desc = 'show or hide the conversation',
  run = function()
    require('pi.window').open(session())
  end,
})

command.register('abort', {
  desc = 'stop the model and its tools',
  run = function()
    session():notify('abort')
  end,
})

command.register('steer', {
  desc = 'say something before the next request',
  run = function(c)
    ask(c, 'steer')
  end,
})

command.register('queue', {
  desc = 'say something when the run ends',
  run = function(c)
    ask(c, 'follow_up')
  end,
})

-- "2 because" and "because": the number of a question and a reason.
local function answer(name)
  return function(c)
    local number, rest = c.args:match('^(%d+)%s*(.*)$')
    local reason = vim.trim(rest or c.args)
    require('pi.questions').answer(name, tonumber(number), reason ~= '' and reason or nil)
  end
end

local function numbers(lead)
  local found = {}
  for _, q in ipairs(require('pi.questions').waiting()) do
    if vim.startswith(tostring(q.number), lead) then
      table.insert(found, tostring(q.number))
    end
  end
  return found
end

local answers = {
  allow = { 'once', 'answer a question: yes' },
  always = { 'session', 'answer a question: yes, for this session' },
  deny = { 'deny', 'answer a question: no, and why' },
}
for name, means in pairs(answers) do
  command.register(name, { desc = means[2], run = answer(means[1]), complete = numbers })
end

command.register('stop', {
  desc = 'end the agent',
  run = function()
    session():stop()
  end,
})
