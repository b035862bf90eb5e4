-- What the keys in the buffer of a conversation do.

local api = vim.api
local M = {}

-- key, function of this module, what it does
M.list = {
  { 'i', 'input', 'write a question' },
  { 'a', 'input', 'write a question' },
  { ']]', 'next_turn', 'to the next question of yours' },
  { '[[', 'previous_turn', 'to the question before' },
  { '<Tab>', 'toggle', 'show more or less of a tool call' },
  { 'gf', 'jump', 'to the file and line under the cursor' },
  { '<CR>', 'jump', 'to the file and line under the cursor' },
  { 'ga', 'allow', 'answer a question: allow' },
  { 'gA', 'always', 'answer a question: allow for the session' },
  { 'gd', 'deny', 'answer a question: deny' },
  { '<C-c>', 'abort', 'stop the model and its tools' },
  { 'q', 'close', 'close the window' },
  { 'g?', 'help', 'show this list' },
}

local function tell(...)
  local ok, err = pcall(...)
  if not ok then
    require('pi.notify')(tostring(err), vim.log.levels.ERROR)
  end
end

local function session()
  return require('pi.session').ensure()
end

local function view()
  return require('pi.view').of_buffer(api.nvim_get_current_buf())
end

local function block()
  local v = view()
  if v then
    return v:block_at(api.nvim_win_get_cursor(0)[1] - 1)
  end
end

function M.input()
  require('pi.input').open(session())
end

local function go_to_turn(direction)
  for _ = 1, vim.v.count1 do
    local row = view() and view():turn_from(api.nvim_win_get_cursor(0)[1] - 1, direction)
    if row then
      vim.cmd("normal! m'")
      api.nvim_win_set_cursor(0, { row + 1, 0 })
    end
  end
end

function M.next_turn()
  go_to_turn(1)
end

function M.previous_turn()
  go_to_turn(-1)
end

function M.toggle()
  local b = block()
  if b and b.call then
    b.call:toggle()
    api.nvim_win_set_cursor(0, { view():row_of(b) + 1, 0 })
  end
end

-- The first file that the line names at or behind the cursor: path, line, column.
local function named_file(cwd)
  local line, column = api.nvim_get_current_line(), api.nvim_win_get_cursor(0)[2] + 1
  local from = 1
  local before
  while true do
    local first, last, word =
      line:find('([%w%._/~+@%%#\128-\255-][%w%._/~+@%%#:\128-\255-]*)', from)
    if not first then
      return before and unpack(before)
    end
    from = last + 1
    local path, row, col = word:match('^(.-):(%d+):?(%d*)')
    path = (path or word):gsub('[:.]+$', ''):gsub('^@', '')
    local full = vim.fn.fnamemodify(path, ':p')
    if not path:find('^[/~]') then
      full = cwd .. '/' .. path
    end
    if vim.fn.filereadable(full) == 1 then
      before = { full, tonumber(row), tonumber(col) }
      if last >= column then
        return unpack(before)
      end
    end
  end
end

function M.jump()
  local cwd = session().cwd
  local path, line, column = named_file(cwd)
  local b, below = block()
  if b and b.call and (not path or b.call.diff) then
    path, line = b.call:place(below)
    path = path and not path:find('^[/~]') and cwd .. '/' .. path or path
  end
  if not path then
    require('pi.notify')('no file here')
    return
  end
  require('pi.window').show_file(path, line, column)
end

local function answer(what)
  local b = block()
  local q = b and b.question
  tell(require('pi.questions').answer, what, q and q.number)
end

function M.allow()
  answer('once')
end

function M.always()
  answer('session')
end

function M.deny()
  answer('deny')
end

function M.abort()
  tell(function()
    session():notify('abort')
  end)
end

function M.close()
  require('pi.window').close(session())
end

function M.help()
  local lines = {}
  for _, key in ipairs(M.list) do
    table.insert(lines, (' %-7s %s '):format(key[1], key[3]))
  end
  require('pi.window').popup(lines)
end

return M
