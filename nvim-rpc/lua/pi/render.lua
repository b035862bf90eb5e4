-- Draws the events of a conversation into its view.

local bus = require('pi.bus')
local toolcall = require('pi.toolcall')
local view_of = require('pi.view')
local M = {}

local USER, THINKING, META, ERROR, QUESTION = '❯ ', '┆ ', '· ', '! ', '? '

local PROMPT_LINES = 20 -- of a text of the user that are shown
local QUESTION_LINES, DIFF_LINES = 50, 200 -- of a question

--- The buffer of a session, made when needed.
function M.buffer(session)
  return view_of.of(session).buf
end

local function prefixed(text, prefix)
  return vim.tbl_map(function(line)
    return prefix .. line
  end, vim.split(vim.trim(text), '\n', { plain = true }))
end

local function add_meta(view, text, prefix)
  view:paragraph('meta')
  view:add_lines(prefixed(text, prefix or META))
end

--- The text of a message.
function M.text_of(content)
  if type(content) == 'string' then
    return content
  end
  local texts = {}
  for _, block in ipairs(content or {}) do
    table.insert(texts, block.type == 'image' and '[image]' or block.text)
  end
  return table.concat(texts, '\n')
end

local function add_user(view, message)
  view:paragraph('user', true)
  local lines = prefixed(M.text_of(message.content), USER)
  if #lines > PROMPT_LINES then
    local more = #lines - PROMPT_LINES
    lines = vim.list_slice(lines, 1, PROMPT_LINES)
    table.insert(lines, ('%s… (+%d lines)'):format(USER, more))
  end
  local first = lines[1]
  view:add_lines({ first })
  view:mark_turn()
  if #lines > 1 then
    view:add_lines(vim.list_slice(lines, 2))
  end
end

-- Text that goes on in the block that was shown last, or begins a new one.
local function add_flow(view, kind, text, prefix)
  if view.kind ~= kind then
    text = text:gsub('^%s*\n', '')
    if not text:find('%S') then
      return
    end
    view:paragraph(kind)
    view:add_lines({ '' })
    text = prefix .. text
  end
  view:add_text(text, prefix)
end

-- Two blocks of one kind are two paragraphs, and line ends behind the last are not shown.
local function end_flow(view)
  if view.kind ~= 'text' and view.kind ~= 'thinking' then
    return
  end
  view.kind = 'flow'
  view:change(function()
    local last = vim.api.nvim_buf_line_count(view.buf)
    while last > 1 do
      local line = vim.api.nvim_buf_get_lines(view.buf, last - 1, last, true)[1]
      if line:gsub('^' .. THINKING, '') ~= '' then
        break
      end
      vim.api.nvim_buf_set_lines(view.buf, last - 1, last, true, {})
      last = last - 1
    end
  end)
  local asides = view.asides or {}
  view.asides = nil
  for _, text in ipairs(asides) do
    add_meta(view, text)
  end
end

-- A remark in the middle of a text comes below it; until then a message tells.
local function add_aside(view, text)
  if view.kind == 'text' or view.kind == 'thinking' then
    view.asides = view.asides or {}
    table.insert(view.asides, text)
    require('pi.notify')(text)
  else
    add_meta(view, text)
  end
end

local events = {}

function events.session_start(view, _, session)
  view:rename('pi://' .. session.id)
  if session.cwd ~= session.home then
    add_meta(view, 'this conversation works in ' .. vim.fn.fnamemodify(session.cwd, ':~'))
  end
end

function events.session_end(view, event)
  for _, call in pairs(view.calls or {}) do
    call:finish({ content = {} }, true)
  end
  view.calls = {}
  end_flow(view)
  if event.code == 0 then
    add_meta(view, 'the agent has ended')
  end
end

function events.agent_start(view, _, session)
  view.since = vim.loop.hrtime() / 1e9
  view.cost = session.usage.cost
end

-- A line below the run: how long, how much.
function events.agent_end(view, _, session)
  end_flow(view)
  local usage = session.usage
  local seconds = vim.loop.hrtime() / 1e9 - (view.since or 0)
  local words = { seconds >= 1 and toolcall.duration(seconds) or nil }
  if usage.context > 0 then
    table.insert(words, require('pi.status').count(usage.context) .. ' tokens')
  end
  local cost = usage.cost - (view.cost or 0)
  if cost > 0 then
    table.insert(words, ('$%.2f'):format(cost))
  end
  table.insert(words, 1, view.ending or 'done')
  add_meta(view, table.concat(words, ', '))
end

function events.message_update(view, event)
  local e = event.assistantMessageEvent
  if e.type == 'text_delta' then
    add_flow(view, 'text', e.delta, '')
  elseif e.type == 'thinking_delta' then
    add_flow(view, 'thinking', e.delta, THINKING)
  elseif e.type == 'text_end' or e.type == 'thinking_end' then
    end_flow(view)
  end
end

function events.message_end(view, event)
  local message = event.message
  if message.role == 'user' then
    add_user(view, message)
  elseif message.role == 'assistant' then
    end_flow(view)
    view.ending = ({ aborted = 'aborted', error = 'failed' })[message.stopReason]
    view.error = message.errorMessage
    if message.errorMessage and view.ending ~= 'aborted' then
      add_meta(view, message.errorMessage, ERROR)
    elseif message.stopReason == 'length' then
      add_meta(view, 'the answer was cut: it reached the limit of the model', ERROR)
    end
  elseif message.role == 'toolResult' then
    view.ending = 'aborted' -- unless the model answers to it
  end
end

local function start_call(view, id, name, args, title)
  end_flow(view)
  view:paragraph('tool')
  view.calls = view.calls or {}
  view.calls[id] = toolcall.start(view, name, type(args) == 'table' and args or {}, title)
  return view.calls[id]
end

function events.tool_execution_start(view, event)
  start_call(view, event.toolCallId, event.toolName, event.args, event.title)
end

function events.tool_execution_update(view, event)
  local call = view.calls and view.calls[event.toolCallId]
  if call then
    call:output(event.delta, event.skippedBytes)
  end
end

function events.tool_execution_end(view, event, session)
  local call = view.calls and view.calls[event.toolCallId]
  if not call then
    return
  end
  view.calls[event.toolCallId] = nil
  call:finish(event.result, event.isError)
  if call.added then
    session.changed.added = session.changed.added + call.added
    session.changed.removed = session.changed.removed + call.removed
  end
end

local names = { once = 'allow', session = 'always', deny = 'deny' }
local keys = { once = 'ga', session = 'gA', deny = 'gd' }

local function answers_lines(q)
  local words, lines = {}, {}
  for _, answer in ipairs(q.answers) do
    table.insert(words, keys[answer] .. ' ' .. (q.labels[answer] or names[answer]))
  end
  lines[1] = ('%s  %s   (or :Pi allow %d …)'):format(
    QUESTION,
    table.concat(words, '   '),
    q.number
  )
  if q.means then
    table.insert(lines, QUESTION .. '  always: ' .. q.means)
  end
  return lines
end

local function question_lines(q)
  local lines = {}
  for i = 2, math.min(#q.lines, QUESTION_LINES) do
    table.insert(lines, QUESTION .. '  ' .. q.lines[i])
  end
  if #q.lines > QUESTION_LINES then
    table.insert(lines, ('%s  … (+%d lines)'):format(QUESTION, #q.lines - QUESTION_LINES))
  end
  local diff = q.diff and vim.split(q.diff, '\n', { plain = true, trimempty = true }) or {}
  for i = 1, math.min(#diff, DIFF_LINES) do
    table.insert(lines, '┃ ' .. diff[i])
  end
  if #diff > DIFF_LINES then
    table.insert(lines, ('┃ … %d lines more'):format(#diff - DIFF_LINES))
  end
  return vim.list_extend(lines, answers_lines(q))
end

local function question_title(q)
  return ('?%d %s'):format(q.number, q.lines[1] or '')
end

function events.question(view, event)
  local q = event.question
  end_flow(view)
  view:paragraph('question')
  q.block = view:add_block(question_title(q), question_lines(q))
  q.block.question = q
  view:set_block(q.block, q.block.title, nil, { sign_text = '?', sign_hl_group = 'PiQuestion' })
end

function events.question_end(view, event)
  local q = event.question
  if q.block and q.block.view == view then
    q.block.question = nil
    view:set_block(q.block, ('%s  — %s'):format(question_title(q), event.outcome), {})
  end
end

function events.queue_update(view, event, session)
  for _, text in ipairs(event.dropped or {}) do
    add_aside(view, 'dropped: ' .. text)
  end
  local waiting = #(event.steering or {}) + #(event.followUp or {})
  if session.running and waiting > (view.waiting or 0) then
    local last = event.followUp and event.followUp[#event.followUp]
    local steer = #(event.steering or {}) > (view.steering or 0)
    if steer then
      add_aside(view, 'will be said next: ' .. event.steering[#event.steering])
    else
      add_aside(view, 'waits until the run ends: ' .. (last or ''))
    end
  end
  view.waiting, view.steering = waiting, #(event.steering or {})
end

function events.auto_retry_start(view, event)
  add_meta(view, event.message)
end

function events.auto_retry_end(view, event)
  if not event.success and event.finalError then
    add_meta(view, event.finalError, ERROR)
  end
end

function events.model_changed(view, event)
  local level = event.thinkingLevel
  local thinking = level and level ~= 'off' and ', thinking ' .. level or ''
  add_aside(view, ('model: %s%s'):format(event.model.name or event.model.id, thinking))
end

function events.thinking_level_changed(view, event)
  add_aside(view, 'thinking: ' .. event.level)
end

function events.notice(view, event)
  end_flow(view)
  add_meta(view, event.message, event.level == 'error' and ERROR or META)
end

-- An answer of an earlier time.
local function add_answer(view, message, calls)
  for _, block in ipairs(message.content or {}) do
    if block.type == 'text' then
      add_flow(view, 'text', block.text, '')
    elseif block.type == 'thinking' then
      add_flow(view, 'thinking', block.thinking, THINKING)
    elseif block.type == 'toolCall' then
      calls[block.id] = start_call(view, block.id, block.name, block.arguments)
    end
    end_flow(view)
  end
  if message.errorMessage then
    add_meta(view, message.errorMessage, ERROR)
  end
end

function events.transcript(view, event)
  local calls = {}
  if event.omitted > 0 then
    add_meta(view, ('%d earlier messages are not shown'):format(event.omitted))
  end
  for _, message in ipairs(event.messages) do
    if message.role == 'user' then
      add_user(view, message)
    elseif message.role == 'assistant' then
      add_answer(view, message, calls)
    elseif calls[message.toolCallId] then
      calls[message.toolCallId]:finish(message, message.isError, true)
    end
  end
  for id, call in pairs(calls) do
    view.calls[id] = nil
    if not call.outcome then
      call:finish({ content = {} }, true, true)
    end
  end
end

-- Who does not see the conversation is told how a run ended.
local function tell(session, text, level)
  if #vim.fn.win_findbuf(view_of.of(session).buf) == 0 then
    require('pi.notify')(text, level)
  end
end

bus.on('agent_end', function(_, session)
  local view = view_of.of(session)
  local failed = view.ending == 'failed'
  tell(
    session,
    failed and view.error or view.ending or 'done',
    failed and vim.log.levels.ERROR or nil
  )
end)

bus.on('notice', function(event, session)
  if event.level ~= 'info' then
    tell(session, event.message, vim.log.levels[event.level == 'error' and 'ERROR' or 'WARN'])
  end
end)

bus.on('session_renew', function(_, session)
  view_of.renew(session)
end)

for kind, draw in pairs(events) do
  bus.on(kind, function(event, session)
    local view = view_of.of(session)
    view:change(function()
      draw(view, event, session)
    end)
  end)
end

return M
