-- Files that are open in buffers: what the agent looks at and changes there. Each request
-- returns the answer for answer_host. Nothing here asks the user anything.
--
-- The text of a buffer is its lines with LF, whatever 'fileformat' says. Offsets are bytes
-- of it, and these are the bytes of the buffer.

local api = vim.api
local M = {}

-- Beyond this a text is not handed over; pi-nvim refuses messages of 64 MiB.
local TEXT_MAX = 48 * 1024 * 1024

local marks = api.nvim_create_namespace('pi-view')
local group = api.nvim_create_augroup('PiDisk', { clear = true })

local function refuse(format, ...)
  return { status = 'conflict', message = format:format(...) }
end

local function short_name(buf)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.')
end

-- The loaded buffer of a real path, or nil.
function M.find(path)
  for _, buf in ipairs(api.nvim_list_bufs()) do
    local name = api.nvim_buf_get_name(buf)
    if name ~= '' and api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == '' then
      if name == path or vim.loop.fs_realpath(name) == path then
        return buf
      end
    end
  end
end

-- Neovim tells only once that buffer and disk have both changed.
local function remember_conflict(buf)
  vim.b[buf].pi_conflict = true
  api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      vim.b[buf].pi_conflict = nil
    end,
  })
end

-- Compares the file of a buffer with what was read, without the question that Neovim would
-- ask: 'same', 'conflict' (both changed) or 'deleted'. A clean buffer is read again.
function M.check_disk(buf)
  local state = vim.b[buf].pi_conflict and 'conflict' or 'same'
  local watch = api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buf,
    callback = function()
      local reason = vim.v.fcs_reason
      if reason == 'conflict' or reason == 'deleted' then
        state = reason
        vim.v.fcs_choice = ''
      else
        vim.v.fcs_choice = 'reload'
      end
    end,
  })
  api.nvim_buf_call(buf, function()
    -- With 'autoread' the event is not fired for a clean buffer.
    local own = vim.fn.eval('&l:autoread') -- neither 0 nor 1 when it is not set here
    vim.cmd('setlocal noautoread')
    pcall(vim.cmd, 'silent checktime ' .. buf)
    local names = { [0] = 'noautoread', [1] = 'autoread' }
    vim.cmd('setlocal ' .. (names[own] or 'autoread<'))
  end)
  api.nvim_del_autocmd(watch)
  if state == 'conflict' and not vim.b[buf].pi_conflict then
    remember_conflict(buf)
  end
  return state
end

-- An empty file has one empty line, and so has a file of one line end.
local function is_empty(buf)
  if api.nvim_buf_line_count(buf) > 1 or api.nvim_buf_get_lines(buf, 0, 1, true)[1] ~= '' then
    return false
  end
  return api.nvim_buf_call(buf, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

local function text_of(buf)
  if is_empty(buf) then
    return ''
  end
  local text = table.concat(api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
  return vim.bo[buf].endofline and text .. '\n' or text
end

local function give(buf)
  local text = text_of(buf)
  if #text > TEXT_MAX then
    return refuse('the buffer of %s is too large; close it first', short_name(buf))
  end
  return {
    status = 'ok',
    text = text,
    version = api.nvim_buf_get_changedtick(buf),
    unsaved = vim.bo[buf].modified,
  }
end

-- What only the user can solve, or nil.
local function obstacle(buf)
  local disk = M.check_disk(buf)
  if disk == 'conflict' then
    return refuse(
      '%s has unsaved changes in Neovim, and its file changed on disk, too; '
        .. 'the user must save or reload it',
      short_name(buf)
    )
  elseif disk == 'deleted' then
    return refuse(
      '%s is open in Neovim, but its file is gone; the user must save or close it',
      short_name(buf)
    )
  elseif vim.bo[buf].readonly or not vim.bo[buf].modifiable then
    return refuse('%s is read-only in Neovim', short_name(buf))
  end
end

local requests = {}

-- Whether a clean buffer has the text that the agent finds on the disk.
local function has_same_bytes(buf)
  local bo = vim.bo[buf]
  local utf8 = bo.fileencoding == '' or bo.fileencoding == 'utf-8'
  return utf8 and not bo.bomb and bo.fileformat == 'unix'
end

-- A clean buffer has nothing that the disk has not, as long as the text is the same in both.
function requests.read(buf)
  M.check_disk(buf)
  if not vim.bo[buf].modified and has_same_bytes(buf) then
    return { status = 'not_open' }
  end
  return give(buf)
end

function requests.snapshot(buf)
  return obstacle(buf) or give(buf)
end

-- Where a line begins; Neovim has no offsets in an empty buffer.
local function offset_of(buf, row)
  return row == 0 and 0 or api.nvim_buf_get_offset(buf, row)
end

-- Row and column of a byte offset; buf is the current buffer.
local function position(buf, offset)
  local low, high = 0, api.nvim_buf_line_count(buf) - 1
  while low < high do
    local middle = math.floor((low + high + 1) / 2)
    if offset_of(buf, middle) <= offset then
      low = middle
    else
      high = middle - 1
    end
  end
  return low, offset - offset_of(buf, low)
end

-- The last change first, so that the offsets of the others still hold.
local function replace(buf, changes)
  for i = #changes, 1, -1 do
    local offset, length, text = unpack(changes[i])
    if vim.bo[buf].fileformat == 'dos' then
      text = text:gsub('\r\n', '\n')
    end
    local from_row, from_col = position(buf, offset)
    local to_row, to_col = position(buf, offset + length)
    local lines = vim.split(text, '\n', { plain = true })
    api.nvim_buf_set_text(buf, from_row, from_col, to_row, to_col, lines)
  end
end

-- The last line end of a file is not in the lines of its buffer. For changes that reach it
-- an empty line stands behind it meanwhile.
local function replace_at_end(buf, changes)
  if vim.bo[buf].endofline and not is_empty(buf) then
    api.nvim_buf_set_lines(buf, -1, -1, true, { '' })
  end
  replace(buf, changes)
  local ended = api.nvim_buf_get_lines(buf, -2, -1, true)[1] == ''
  if ended then
    api.nvim_buf_set_lines(buf, -2, -1, true, {}) -- of one empty line: the empty file
  end
  vim.bo[buf].endofline = ended
end

local function change(buf, changes)
  local last = changes[#changes]
  local lines = api.nvim_buf_line_count(buf)
  local length = offset_of(buf, lines - 1) + #api.nvim_buf_get_lines(buf, -2, -1, true)[1]
  if last and last[1] + last[2] >= length then
    replace_at_end(buf, changes)
  else
    replace(buf, changes)
  end
end

-- Runs edit with the view of every window on buf kept: its first line and its cursor stay
-- with their text. (Neovim 0.7 moves some of them to wrong places.)
local function keep_views(buf, edit)
  local views = {}
  local function mark(row, col)
    row = math.min(row, api.nvim_buf_line_count(buf) - 1)
    local line = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
    return api.nvim_buf_set_extmark(buf, marks, row, math.min(col, #line), {})
  end
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local view = api.nvim_win_call(win, vim.fn.winsaveview)
    table.insert(views, {
      win = win,
      view = view,
      top = mark(view.topline - 1, 0),
      cursor = mark(view.lnum - 1, view.col),
    })
  end
  local ok, err = pcall(edit)
  for _, v in ipairs(views) do
    local top = api.nvim_buf_get_extmark_by_id(buf, marks, v.top, {})
    local cursor = api.nvim_buf_get_extmark_by_id(buf, marks, v.cursor, {})
    v.view.topline, v.view.lnum, v.view.col = top[1] + 1, cursor[1] + 1, cursor[2]
    api.nvim_win_call(v.win, function()
      vim.fn.winrestview(v.view)
    end)
  end
  api.nvim_buf_clear_namespace(buf, marks, 0, -1)
  if not ok then
    error(err, 0)
  end
end

-- Setting 'undolevels' closes the block of undo, so that a change in the middle of the
-- user's typing is a block of its own.
local function own_undo_block(buf, edit)
  api.nvim_buf_call(buf, function()
    vim.cmd('let &l:undolevels = &l:undolevels')
    local ok, err = pcall(edit)
    vim.cmd('let &l:undolevels = &l:undolevels')
    if not ok then
      error(err, 0)
    end
  end)
end

-- Writes a buffer as the user would; a file without a final line end stays so.
local function save(buf)
  local fix = vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = fix and vim.bo[buf].endofline
  pcall(api.nvim_buf_call, buf, function()
    vim.cmd('silent write')
  end)
  vim.bo[buf].fixendofline = fix
  return not vim.bo[buf].modified
end

-- What was saved is saved again; what the user had not saved stays so.
function requests.apply(buf, version, changes)
  local problem = obstacle(buf)
  if problem then
    return problem
  elseif api.nvim_buf_get_changedtick(buf) ~= version then
    return { status = 'stale' }
  end
  local clean = not vim.bo[buf].modified
  keep_views(buf, function()
    own_undo_block(buf, function()
      change(buf, changes)
    end)
  end)
  local before = clean and text_of(buf)
  local saved = clean and save(buf)
  local after = clean and text_of(buf)
  return {
    status = 'ok',
    version = api.nvim_buf_get_changedtick(buf),
    unsaved = vim.bo[buf].modified,
    saved = saved,
    text = after ~= before and after or nil, -- altered by what runs on writing
  }
end

-- Serves one request: 'read', 'snapshot' or 'apply'.
function M.serve(op, path, version, changes)
  local buf = M.find(path)
  if not buf then
    return { status = op == 'apply' and 'stale' or 'not_open' }
  end
  return requests[op](buf, version, changes)
end

return M
