-- A small buffer to write prompts in, with normal editing. It lies below the conversation.

local api = vim.api
local config = require('pi.config')
local M = {}

local HISTORY = 100
local HISTORY_BYTES = 1000 -- of a text of an earlier time

local namespace = api.nvim_create_namespace('pi-input')
local inputs = {} -- session -> { buf, history, at, draft }

local function text_of(buf)
  return table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
end

local function set_text(buf, text)
  api.nvim_buf_set_lines(buf, 0, -1, true, vim.split(text, '\n', { plain = true }))
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local last = api.nvim_buf_line_count(buf)
    api.nvim_win_set_cursor(win, { last, #api.nvim_buf_get_lines(buf, last - 1, last, true)[1] })
  end
end

-- What goes along, and how to send, at the first line.
local function decorate(session, input)
  local chunks = {}
  if text_of(input.buf) == '' then
    table.insert(chunks, { 'ask: <CR> or <C-s> sends, @ and / complete with <Tab>', 'PiMeta' })
  end
  local label = require('pi.context').label(session)
  if label ~= '' then
    table.insert(chunks, 1, { label .. '  ', 'PiContext' })
  end
  api.nvim_buf_clear_namespace(input.buf, namespace, 0, -1)
  if #chunks > 0 then
    api.nvim_buf_set_extmark(input.buf, namespace, 0, 0, { virt_text = chunks })
  end
end

local function remember(input, text)
  if input.history[#input.history] ~= text then
    table.insert(input.history, text)
  end
  while #input.history > HISTORY do
    table.remove(input.history, 1)
  end
  input.at, input.draft = nil, nil
end

-- "/model x" is ":Pi model x".
local function run_command(text)
  local name, rest = text:match('^/(%l+)%s*(.*)$')
  if name and require('pi.command').all()[name] and not text:find('\n') then
    local line = vim.trim(name .. ' ' .. rest)
    require('pi.command').call(line)
    return true
  end
end

--- Sends what was written, see pi.Session:prompt() for delivery.
function M.send(session, delivery)
  local input = inputs[session]
  local text = input and vim.trim(text_of(input.buf)) or ''
  if text == '' then
    return
  end
  set_text(input.buf, '')
  if run_command(text) then
    remember(input, text)
  else
    local ok, err = pcall(session.ask, session, text, delivery)
    if not ok then
      require('pi.notify')(tostring(err), vim.log.levels.ERROR)
    end
  end
  decorate(session, input)
end

-- Shows the next (1) or previous (-1) text of the history; behind the last is the draft.
local function browse(input, step)
  if not input.at then
    input.at, input.draft = #input.history + 1, text_of(input.buf)
  end
  local at = math.max(math.min(input.at + step, #input.history + 1), 1)
  if at ~= input.at then
    input.at = at
    set_text(input.buf, input.history[at] or input.draft)
  end
end

-- Completes the word before the cursor when it is a mention or a command.
local function complete()
  local column = api.nvim_win_get_cursor(0)[2]
  local before = api.nvim_get_current_line():sub(1, column)
  local word = before:match('%S*$')
  local found = {}
  if word:find('^@') then
    found = require('pi.complete').mentions(word)
  elseif word:find('^/') and word == before then
    found = vim.tbl_map(function(name)
      return '/' .. name
    end, vim.tbl_keys(require('pi.command').all()))
    table.sort(found)
    found = require('pi.complete').starting_with(found, word)
  end
  if #found == 0 then
    return false
  end
  vim.fn.complete(column - #word + 1, found)
  return true
end

local function feed(keys)
  api.nvim_feedkeys(api.nvim_replace_termcodes(keys, true, false, true), 'n', false)
end

local function map(session, input)
  local function set(modes, key, fn, desc)
    vim.keymap.set(modes, key, fn, { buffer = input.buf, nowait = true, desc = 'pi: ' .. desc })
  end
  local function send()
    M.send(session)
  end
  set('n', '<CR>', send, 'send')
  set({ 'n', 'i' }, '<C-s>', send, 'send')
  set({ 'n', 'i' }, '<M-CR>', function()
    M.send(session, 'steer')
  end, 'send before the next request to the model')
  for key, step in pairs({ ['<C-p>'] = -1, ['<C-n>'] = 1 }) do
    set({ 'n', 'i' }, key, function()
      if vim.fn.pumvisible() == 1 then
        feed(key)
      else
        browse(input, step)
      end
    end, step < 0 and 'the text before' or 'the text after')
  end
  set('i', '<Tab>', function()
    if vim.fn.pumvisible() == 1 then
      feed('<C-n>')
    elseif not complete() then
      feed('<Tab>')
    end
  end, 'complete @mentions and /commands')
  set('n', '<C-c>', function()
    require('pi.command').call('abort')
  end, 'stop the model and its tools')
  set('n', 'q', function()
    M.close(session)
  end, 'close')
end

local function create(session)
  local input = { history = {} }
  input.buf = api.nvim_create_buf(false, true)
  require('pi.session').own_buffer(input.buf, session)
  vim.bo[input.buf].bufhidden = 'hide'
  vim.bo[input.buf].filetype = 'pi-input'
  pcall(api.nvim_buf_set_name, input.buf, 'pi-input://' .. session.cwd)
  map(session, input)
  api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    buffer = input.buf,
    callback = function()
      decorate(session, input)
    end,
  })
  return input
end

local function of(session)
  local input = inputs[session]
  if not (input and api.nvim_buf_is_valid(input.buf)) then
    local history = input and input.history
    input = create(session)
    input.history = history or input.history
    inputs[session] = input
  end
  return input
end

local function find(input)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == input.buf then
      return win
    end
  end
end

-- Below the conversation, with the focus.
local function show(session, input)
  local window = require('pi.window')
  local height = config.get('input_height')
  local above = window.open(session)
  if window.split_float(above, input.buf, height) then
    return
  end
  vim.cmd(('noautocmd call win_gotoid(%d)'):format(above))
  local room = math.max(api.nvim_win_get_height(0) - 4, 1)
  window.split(('belowright %dsplit'):format(math.min(height, room)), input.buf)
end

--- Opens the input and goes there, in insert mode. text replaces what is in it.
function M.open(session, text)
  if vim.fn.getcmdwintype() ~= '' then
    error('not in the command-line window', 0)
  end
  local input = of(session)
  local win = find(input)
  if win then
    api.nvim_set_current_win(win)
  else
    show(session, input)
    require('pi.window').set_local(0, {
      'wrap',
      'linebreak',
      'nonumber',
      'norelativenumber',
      'nolist',
      'winfixheight',
      'signcolumn=no',
      'statusline=\\ ask',
      'foldcolumn=0',
      'colorcolumn=',
    })
  end
  if text then
    set_text(input.buf, text)
  end
  decorate(session, input)
  vim.cmd('startinsert!')
end

--- Closes its window in this tab page; what was written stays.
function M.close(session)
  local input = inputs[session]
  local win = input and find(input)
  if win and #api.nvim_list_wins() > 1 then
    local above = require('pi.window').find(session)
    local was_in = api.nvim_get_current_win() == win
    require('pi.window').close_window(win)
    if was_in and above and api.nvim_win_is_valid(above) then
      api.nvim_set_current_win(above)
    end
  end
end

local bus = require('pi.bus')

bus.on('asked', function(event, session)
  remember(of(session), event.text)
end)

-- What no agent took may be sent again, unless something else was begun.
bus.on('not_sent', function(_, session)
  local input = of(session)
  if text_of(input.buf) == '' and #input.history > 0 then
    set_text(input.buf, input.history[#input.history])
    decorate(session, input)
  end
end)

-- The questions of a conversation that goes on; what went along with them is left out.
bus.on('transcript', function(event, session)
  local input = of(session)
  for _, message in ipairs(event.messages) do
    local text = message.role == 'user' and require('pi.render').text_of(message.content) or ''
    if text ~= '' and #text < HISTORY_BYTES then
      remember(input, text)
    end
  end
end)

bus.on('context_changed', function(_, session)
  local input = inputs[session]
  if input and api.nvim_buf_is_valid(input.buf) then
    decorate(session, input)
  end
end)

return M
