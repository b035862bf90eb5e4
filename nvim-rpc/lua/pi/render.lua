-- The conversation and its buffer. Events are drawn as they come; windows that show the end
-- of the buffer follow it, and nothing else moves.

local api = vim.api
local M = {}

-- Of a command's output the newest lines are shown, and these not too long: Neovim is slow
-- with long lines.
local OUTPUT_LINES = 10
local OUTPUT_COLUMNS = 500

local namespace = api.nvim_create_namespace('pi')

local views = {} -- session -> buf, kind of the text that was added last, calls
local state -- the one that is drawn

local highlights = {
  PiUser = 'Title',
  PiThinking = 'Comment',
  PiTool = 'Function',
  PiMeta = 'Comment',
  PiError = 'ErrorMsg',
  PiQuestion = 'WarningMsg',
}

--- The buffer of a conversation, made when needed.
function M.buffer(session)
  state = views[session] or { calls = {} }
  views[session] = state
  if not (state.buf and api.nvim_buf_is_valid(state.buf)) then
    for name, link in pairs(highlights) do
      api.nvim_set_hl(0, name, { default = true, link = link })
    end
    state.buf = api.nvim_create_buf(false, true)
    state.kind, state.calls = nil, {}
    api.nvim_buf_set_name(state.buf, 'pi://session/' .. state.buf)
    vim.bo[state.buf].undolevels = -1
    vim.bo[state.buf].modifiable = false
    vim.bo[state.buf].filetype = 'pi'
    require('pi.session').own_buffer(state.buf, session)
  end
  return state.buf
end

-- Runs draw on the buffer; windows whose cursor is on the last line follow.
local function drawing(session, draw)
  local buf = M.buffer(session)
  local last = api.nvim_buf_line_count(buf)
  local followers = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] == last
  end, vim.fn.win_findbuf(buf))
  vim.bo[buf].modifiable = true
  local ok, err = pcall(draw, buf)
  vim.bo[buf].modifiable = false
  for _, win in ipairs(followers) do
    api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
  end
  if not ok then
    error(err, 0)
  end
end

local function end_of(buf)
  return api.nvim_buf_line_count(buf) - 1, #api.nvim_buf_get_lines(buf, -2, -1, true)[1]
end

local function append_raw(buf, text, highlight)
  local row, col = end_of(buf)
  api.nvim_buf_set_text(buf, row, col, row, col, vim.split(text, '\n', { plain = true }))
  if highlight then
    local end_row, end_col = end_of(buf)
    local to = { end_row = end_row, end_col = end_col, hl_group = highlight }
    api.nvim_buf_set_extmark(buf, namespace, row, col, to)
  end
end

-- Adds text; the kind tells a continuation from something new, which stands apart.
local function append(buf, kind, text, highlight)
  local row, col = end_of(buf)
  if kind ~= state.kind and (row > 0 or col > 0) then
    append_raw(buf, col > 0 and '\n\n' or '\n')
  end
  state.kind = kind
  append_raw(buf, text, highlight)
end

local function add_line(buf, text, highlight)
  state.kind = nil
  append(buf, 'line', text, highlight)
end

local function text_of(content)
  local texts = vim.tbl_map(function(block)
    return block.text or ''
  end, content or {})
  return table.concat(texts)
end

-- Cuts a line that is too long, between two characters.
local function clip(text)
  local n = OUTPUT_COLUMNS
  if #text <= n then
    return text
  end
  while n > 0 and text:byte(n + 1) >= 0x80 and text:byte(n + 1) < 0xc0 do
    n = n - 1
  end
  return text:sub(1, n)
end

local function mark(buf, row, col, options)
  return api.nvim_buf_set_extmark(buf, namespace, row, col, options or {})
end

local function position(buf, id)
  return unpack(api.nvim_buf_get_extmark_by_id(buf, namespace, id, {}))
end

-- Adds output to the place of a call and leaves its last lines. The last line end is held
-- back, so that what follows need not know whether there was one.
local function add_output(buf, call, delta)
  local row, col = position(buf, call.from)
  local end_row, end_col = position(buf, call.to)
  local text = call.pending .. delta
  call.pending = text:sub(-1) == '\n' and '\n' or ''
  local more = vim.split(text:sub(1, #text - #call.pending), '\n', { plain = true })
  local lines = api.nvim_buf_get_text(buf, row, col, end_row, end_col, {})
  lines[#lines] = clip(lines[#lines] .. more[1])
  for i = 2, #more do
    table.insert(lines, clip(more[i]))
  end
  -- The first of them is the rest of the title's line: empty.
  local shown = vim.list_slice(lines, math.max(#lines - OUTPUT_LINES + 1, 2))
  table.insert(shown, 1, '')
  api.nvim_buf_set_text(buf, row, col, end_row, end_col, shown)
  local last = #shown == 1 and col or 0
  call.to = mark(buf, row + #shown - 1, last + #shown[#shown], { id = call.to, right_gravity = false })
end

local events = {}

function events.agent_end()
  state.kind = nil
end

function events.message_update(buf, event)
  local e = event.assistantMessageEvent
  if e.type == 'text_delta' then
    append(buf, 'text', e.delta)
  elseif e.type == 'thinking_delta' then
    append(buf, 'thinking', e.delta, 'PiThinking')
  elseif e.type == 'text_end' or e.type == 'thinking_end' then
    state.kind = nil -- two blocks of one kind are two paragraphs
  end
end

function events.message_end(buf, event)
  local message = event.message
  if message.role == 'user' then
    add_line(buf, text_of(message.content), 'PiUser')
  elseif message.role == 'assistant' and message.errorMessage then
    add_line(buf, message.errorMessage, 'PiError')
  end
end

function events.tool_execution_start(buf, event)
  add_line(buf, event.title or event.toolName, 'PiTool')
  local row, col = end_of(buf)
  state.calls[event.toolCallId] = {
    from = mark(buf, row, col, { right_gravity = false }), -- the end of the title
    to = mark(buf, row, col, { right_gravity = false }),
    pending = '\n', -- line end to come before more output
  }
end

function events.tool_execution_update(buf, event)
  local call = state.calls[event.toolCallId]
  if call then
    add_output(buf, call, event.delta)
  end
end

-- Of a failure is shown what the model is told.
function events.tool_execution_end(buf, event)
  local call = state.calls[event.toolCallId]
  if call and event.isError then
    local row, col = position(buf, call.from)
    local end_row, end_col = position(buf, call.to)
    api.nvim_buf_set_text(buf, row, col, end_row, end_col, {})
    call.pending = '\n'
    add_output(buf, call, text_of(event.result.content))
    api.nvim_buf_set_text(buf, row, col, row, col, { ' failed' })
  end
  state.calls[event.toolCallId] = nil
end

-- A file that was changed on disk and is open here is read again.
function events.file_changed(_, event)
  local open = not event.inEditor and require('pi.buffer').find(event.path)
  if open then
    require('pi.buffer').check_disk(open)
  end
end

function events.question(buf, event)
  local q = event.question
  local lines = vim.list_slice(q.lines)
  lines[1] = ('?%d %s'):format(q.number, lines[1])
  if q.diff then
    vim.list_extend(lines, vim.split(q.diff, '\n', { plain = true, trimempty = true }))
  end
  local names = { once = 'allow', session = 'always', deny = 'deny' }
  local words = {}
  for _, answer in ipairs(q.answers) do
    local label = q.labels[answer] or (answer == 'session' and q.means)
    local suffix = label and ' (' .. label .. ')' or ''
    table.insert(words, (':Pi %s %d%s'):format(names[answer], q.number, suffix))
  end
  table.insert(lines, table.concat(words, '   '))
  add_line(buf, table.concat(lines, '\n'), 'PiQuestion')
end

function events.question_end(buf, event)
  add_line(buf, ('?%d %s'):format(event.question.number, event.outcome), 'PiMeta')
end

function events.auto_retry_start(buf, event)
  add_line(buf, event.message, 'PiMeta')
end

function events.notice(buf, event)
  add_line(buf, event.message, event.level == 'error' and 'PiError' or 'PiMeta')
end

for kind, draw in pairs(events) do
  require('pi.bus').on(kind, function(event, session)
    drawing(session, function(buf)
      draw(buf, event)
    end)
  end)
end

return M
