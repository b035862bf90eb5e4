-- Changing the text of a buffer in the middle of whatever the user does: as an undo block of
-- its own, with cursors, views and a selection kept on their text.

local api = vim.api
local M = {}

local marks = api.nvim_create_namespace('pi-view')
local WHOLE_LINE = 2147483647
local probe -- a buffer that tells whether text may be changed at all

-- An empty file has one empty line, and so has a file of one line end.
function M.is_empty(buf)
  if api.nvim_buf_line_count(buf) > 1 or api.nvim_buf_get_lines(buf, 0, 1, true)[1] ~= '' then
    return false
  end
  return api.nvim_buf_call(buf, function()
    return vim.fn.wordcount().bytes == 0
  end)
end

function M.lines(buf)
  return api.nvim_buf_get_lines(buf, 0, -1, true)
end

--- As lines(), but an empty file has none.
function M.content(buf)
  return M.is_empty(buf) and {} or M.lines(buf)
end

-- The lines with LF, whatever 'fileformat' says.
function M.text(buf)
  if M.is_empty(buf) then
    return ''
  end
  local text = table.concat(M.lines(buf), '\n')
  return vim.bo[buf].endofline and text .. '\n' or text
end

--- The state of undo that a buffer is in.
function M.state(buf)
  return api.nvim_buf_call(buf, vim.fn.changenr)
end

-- Text in another encoding, or nil. (Neovim 0.7 converts no NULs.)
function M.convert(text, from, to)
  if vim.iconv then
    return vim.iconv(text, from, to)
  elseif text == '' or text:find('%z') then
    return text == '' and text or nil
  end
  local converted = vim.fn.iconv(text, from, to)
  return converted ~= '' and converted or nil
end

-- A name for people.
function M.name(buf)
  return vim.fn.fnamemodify(api.nvim_buf_get_name(buf), ':~:.')
end

-- Whether the text of a buffer cannot be changed right now, but soon: Neovim forbids it (in
-- an <expr> map), an operator waits for its motion, or a selection is about to be replaced.
function M.must_wait(buf)
  local mode = api.nvim_get_mode().mode
  if buf == api.nvim_get_current_buf() and (mode:find('^no') or mode:find('^[sS\19]')) then
    return true
  end
  if not (probe and api.nvim_buf_is_valid(probe)) then
    local ok, new = pcall(api.nvim_create_buf, false, true)
    probe = ok and new or nil
  end
  return not (probe and pcall(api.nvim_buf_set_lines, probe, 0, -1, true, { '' }))
end

-- A mark that moves with the text at a place, which may lie beyond the line's end.
local function mark(buf, row, col)
  row = math.max(math.min(row, api.nvim_buf_line_count(buf) - 1), 0)
  local line = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  return api.nvim_buf_set_extmark(buf, marks, row, math.min(col, #line), {})
end

local function place(buf, id)
  return unpack(api.nvim_buf_get_extmark_by_id(buf, marks, id, {}))
end

-- Each keeper marks something and returns what puts it back.

-- The other end of a selection, which Neovim leaves on its line number. Not for inside
-- nvim_buf_call(), where there is no selection.
local function keep_selection(buf)
  if buf ~= api.nvim_get_current_buf() or not api.nvim_get_mode().mode:find('^[vV\22]') then
    return function() end
  end
  local start = vim.fn.getpos('v')
  local id = mark(buf, start[2] - 1, start[3] - 1)
  return function()
    local row, col = place(buf, id)
    local view = vim.fn.winsaveview()
    vim.cmd('normal! o')
    api.nvim_win_set_cursor(0, { row + 1, col })
    vim.cmd('normal! o')
    vim.fn.winrestview(view)
  end
end

-- First line and cursor of a window. (Neovim 0.7 moves some of them to wrong places.)
local function keep_view(buf, win)
  local view = api.nvim_win_call(win, vim.fn.winsaveview)
  local top = mark(buf, view.topline - 1, 0)
  local cursor = mark(buf, view.lnum - 1, view.col)
  return function()
    local row, col = place(buf, cursor)
    view.topline, view.lnum, view.col = place(buf, top) + 1, row + 1, col
    api.nvim_win_call(win, function()
      vim.fn.winrestview(view)
    end)
  end
end

local function keep_views(buf, edit)
  local keepers = {}
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    table.insert(keepers, keep_view(buf, win))
  end
  local ok, err = pcall(edit)
  for _, put_back in ipairs(keepers) do
    put_back()
  end
  if not ok then
    error(err, 0)
  end
end

-- The marks '[ and '], which writing a file moves. buf is the current buffer.
local function keep_last_change(buf, run)
  local ids = {}
  for _, name in ipairs({ "'[", "']" }) do
    local pos = vim.fn.getpos(name)
    if pos[2] > 0 then
      ids[name] = { mark(buf, pos[2] - 1, pos[3] - 1), pos[3] }
    end
  end
  local ok, err = pcall(run)
  for name, kept in pairs(ids) do
    local row, col = place(buf, kept[1])
    if row then
      -- Of whole lines the column is beyond all of them.
      vim.fn.setpos(name, { 0, row + 1, kept[2] == WHOLE_LINE and WHOLE_LINE or col + 1, 0 })
    end
  end
  if not ok then
    error(err, 0)
  end
end

-- Runs edit, and then `after` (which may save) without looking after views, as one block of
-- undo. Setting 'undolevels' closes the block, so that a change in the middle of the user's
-- typing does not join it.
function M.run(buf, edit, after)
  local put_selection_back = keep_selection(buf)
  local ok, err = pcall(api.nvim_buf_call, buf, function()
    vim.cmd('noautocmd let &l:undolevels = &l:undolevels')
    local ok, err = pcall(keep_last_change, buf, function()
      keep_views(buf, edit)
      if after then
        after()
      end
    end)
    vim.cmd('noautocmd let &l:undolevels = &l:undolevels')
    if not ok then
      error(err, 0)
    end
  end)
  if api.nvim_buf_is_valid(buf) then
    put_selection_back()
    api.nvim_buf_clear_namespace(buf, marks, 0, -1)
  end
  if not ok then
    error(err, 0)
  end
end

-- The places where two lists of lines differ: {from, count, from, count}, 1-based; a count of
-- 0 means "behind this line".
function M.diff(before, after)
  local diff = (vim.text and vim.text.diff) or vim.diff
  local function joined(lines)
    return #lines == 0 and '' or table.concat(lines, '\n') .. '\n'
  end
  return diff(joined(before), joined(after), { result_type = 'indices' })
end

-- Makes the lines of a buffer those of `after`, touching only what differs.
function M.set_lines(buf, before, after)
  local hunks = M.diff(before, after)
  for i = #hunks, 1, -1 do
    local from, count, new_from, new_count = unpack(hunks[i])
    local first = count > 0 and from - 1 or from
    local new_first = new_count > 0 and new_from or new_from + 1
    local new = vim.list_slice(after, new_first, new_first + new_count - 1)
    api.nvim_buf_set_lines(buf, first, first + count, true, new)
  end
  return #hunks > 0
end

return M
