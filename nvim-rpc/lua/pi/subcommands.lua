-- The subcommands of :Pi for the conversation; those for changes are in pi.edits, that of
-- follow mode in pi.follow.

local command = require('pi.command')
local complete = require('pi.complete')
local config = require('pi.config')

local function session()
  return require('pi.session').ensure()
end

local function among(names)
  return function(lead, words)
    return #words == 0 and complete.starting_with(names, lead) or {}
  end
end

local function show(s)
  if config.get('open_on_ask') then
    require('pi.window').open(s)
  end
end

-- The text with the lines that the range names.
local function with_range(c, s)
  local text = vim.trim(c.args)
  if c.range == 0 then
    return text
  end
  local mention =
    require('pi.context').range(vim.api.nvim_get_current_buf(), c.line1, c.line2, s.cwd)
  return vim.trim(text .. ' ' .. mention)
end

local function ask(delivery)
  return function(c)
    local s = session()
    local text = with_range(c, s)
    if c.bang then
      s:begin()
    end
    if vim.trim(c.args) == '' then
      require('pi.input').open(s, text ~= '' and text .. ' ' or nil)
      return
    end
    show(s)
    s:ask(text, delivery)
  end
end

local function register(name, desc, run, more)
  command.register(name, vim.tbl_extend('force', { desc = desc, run = run }, more or {}))
end

local mentions = { range = true, complete = complete.mentions }

register('ask', 'ask; with a range about these lines', ask(), {
  range = true,
  bang = true,
  complete = complete.mentions,
})
register('steer', 'say something before the next request', ask('steer'), mentions)
register('queue', 'say something when the run ends', ask('follow_up'), mentions)

local positions = { complete = among({ 'right', 'bottom', 'tab', 'float' }) }

register('open', 'show the conversation', function(c)
  require('pi.window').open(session(), c.words[1])
end, positions)

register('close', 'hide the conversation; the agent goes on', function()
  require('pi.window').close(session())
end)

register('toggle', 'show or hide the conversation', function(c)
  require('pi.window').toggle(session(), c.words[1])
end, positions)

register('abort', 'stop the model and its tools', function()
  session():notify('abort')
end)

local function pick_model(s)
  local may_show = require('pi.window').watch_focus()
  complete.with_models(s, function(models)
    s.models = models
    if not may_show() then
      return
    end
    local lines = vim.tbl_map(function(model)
      return ('%-40s %s'):format(complete.model_name(model), model.name or '')
    end, models)
    require('pi.window').pick('no model can be asked: see :Pi help', lines, function(i)
      s:set_model(complete.model_name(models[i]))
    end)
  end)
end

register('model', 'use another model', function(c)
  if c.args == '' then
    pick_model(session())
  else
    session():set_model(c.args)
  end
end, {
  complete = function(lead, words)
    return #words == 0 and complete.models(lead) or {}
  end,
})

register('think', 'set how much the model thinks', function(c)
  if c.args ~= '' then
    session():set_thinking(c.args)
    return
  end
  require('pi.window').pick('', complete.levels, function(i)
    session():set_thinking(complete.levels[i])
  end)
end, { complete = among(complete.levels) })

register('new', 'begin a new conversation', function()
  local s = session()
  s:begin()
  show(s)
end)

register('continue', 'go on with the newest conversation of this directory', function()
  local s = session()
  s:begin({ continue = true })
  show(s)
end)

local function resume(s, id)
  s:begin({ resume = id })
  show(s)
end

local function pick_session(s)
  local may_show = require('pi.window').watch_focus()
  require('pi.session').list(s.cwd, function(err, sessions)
    if not (err or may_show()) then
      return
    elseif err then
      require('pi.notify')(err, vim.log.levels.ERROR)
      return
    end
    local lines = vim.tbl_map(function(entry)
      local title = (entry.name or entry.firstMessage or ''):gsub('%s+', ' ')
      local when = os.date('%Y-%m-%d %H:%M', math.floor(entry.modified / 1000))
      return ('%s  %4d messages  %s'):format(when, entry.messages, vim.fn.strcharpart(title, 0, 60))
    end, sessions)
    require('pi.window').pick('there is no conversation of ' .. s.cwd, lines, function(i)
      resume(s, sessions[i].path)
    end)
  end)
end

register('resume', 'go on with a conversation', function(c)
  if c.args == '' then
    pick_session(session())
  else
    resume(session(), c.args:match('^(%x[%x-]*):') or c.args)
  end
end, {
  complete = function(lead, words)
    return #words == 0 and complete.sessions(lead) or {}
  end,
})

register('name', 'give the conversation a name', function(c)
  session():call('session_name', { name = c.args })
end)

register('add', 'let a file or the like go along with the next prompt', function(c)
  local s, context = session(), require('pi.context')
  local buf = vim.api.nvim_get_current_buf()
  if c.range > 0 then
    context.add(s, context.range(buf, c.line1, c.line2, s.cwd))
  elseif c.args == '' or c.args == 'buffer' then
    local name = vim.api.nvim_buf_get_name(context.buffer())
    context.add(s, name ~= '' and context.short(name, s.cwd) or 'buffer')
  else
    context.add(s, c.args)
  end
  require('pi.notify')('goes along: ' .. context.label(s))
end, {
  range = true,
  complete = function(lead, words)
    if #words > 0 then
      return {}
    end
    local names = complete.starting_with({ 'buffer', 'diag', 'qf', 'diff', 'selection' }, lead)
    return vim.list_extend(names, complete.paths(lead, session().cwd))
  end,
})

register('drop', 'take it away again, or all of them', function(c)
  require('pi.context').drop(session(), c.args ~= '' and c.args or nil)
end, {
  complete = function(lead)
    return complete.starting_with(session().context or {}, lead)
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

local function numbers(lead, words)
  return #words == 0
      and complete.starting_with(
        vim.tbl_map(function(q)
          return tostring(q.number)
        end, require('pi.questions').waiting()),
        lead
      )
    or {}
end

register('allow', 'answer a question: yes', answer('once'), { complete = numbers })
register(
  'always',
  'answer a question: yes, for this session',
  answer('session'),
  { complete = numbers }
)
register('deny', 'answer a question: no, and why', answer('deny'), { complete = numbers })

register('log', 'what pi-nvim printed', function()
  local s = session()
  local log = s.connection and s.connection.log or s.log or {}
  vim.cmd('botright new')
  local buf = vim.api.nvim_get_current_buf()
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = 'nofile', 'wipe', false
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, #log > 0 and log or { 'pi-nvim printed nothing' })
  vim.bo[buf].modifiable = false
end)

register('stop', 'end the agent', function()
  session():stop()
end)

register('restart', 'start the agent again, with the same conversation', function()
  session():restart()
end)

register('help', 'say what there is', function(c)
  local tag = c.args ~= '' and ':Pi-' .. c.args or 'pi.txt'
  -- Without tags :help would find something similar.
  if vim.tbl_contains(vim.fn.getcompletion(tag, 'help'), tag) then
    vim.cmd('help ' .. tag)
    return
  end
  local lines = {}
  for name, spec in pairs(command.all()) do
    table.insert(lines, (' :Pi %-10s %s '):format(name, spec.desc))
  end
  table.sort(lines)
  require('pi.window').popup(lines)
end, {
  complete = function(lead)
    return complete.starting_with(vim.tbl_keys(command.all()), lead)
  end,
})
