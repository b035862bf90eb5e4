-- The buffer of a conversation: text that grows at the end, and blocks (a title and lines
-- below it) that may change later. Windows whose cursor is on the last line follow;
-- nothing else moves. What the lines mean is told by how they begin, see syntax/pi.vim.

local api = vim.api
local bus = require('pi.bus')
local M = {}

-- Neovim is slow with long lines: of a longer one the rest is counted only.
local LINE_BYTES = 4096
-- The oldest lines beyond this are dropped.
local MAX_LINES = 20000

local namespace = api.nvim_create_namespace('pi-view-blocks')

local views = {} -- session -> view
local open = {} -- views that are being changed

---@class pi.View
---@field buf number
---@field session pi.Session
---@field kind string|nil of what was added last
---@field blocks table<number, pi.Block> by extmark
local View = {}
View.__index = View

-- The windows that follow, and the lock of the buffer, are looked at once for each batch.
local function unlock(view)
  if open[view] then
    return
  end
  local last = api.nvim_buf_line_count(view.buf)
  open[view] = vim.tbl_filter(function(win)
    return api.nvim_win_get_cursor(win)[1] == last
  end, vim.fn.win_findbuf(view.buf))
  vim.bo[view.buf].modifiable = true
end

-- With the lines go their marks: they would move to the first line that is left.
local function drop_old_lines(view)
  local count = api.nvim_buf_line_count(view.buf)
  if count > MAX_LINES * 1.1 then
    local last = { count - MAX_LINES - 1, -1 }
    for _, mark in ipairs(api.nvim_buf_get_extmarks(view.buf, namespace, 0, last, {})) do
      api.nvim_buf_del_extmark(view.buf, namespace, mark[1])
      view.blocks[mark[1]] = nil
    end
    api.nvim_buf_set_lines(view.buf, 0, count - MAX_LINES, true, {
      '· earlier lines were dropped here; the session has them all',
    })
  end
end

local function lock(view, followers)
  drop_old_lines(view)
  vim.bo[view.buf].modifiable = false
  vim.bo[view.buf].modified = false
  local last = api.nvim_buf_line_count(view.buf)
  for _, win in ipairs(followers) do
    if api.nvim_win_is_valid(win) and api.nvim_win_get_buf(win) == view.buf then
      local column = api.nvim_win_get_cursor(win)[2]
      api.nvim_win_set_cursor(win, { last, column })
    end
  end
end

bus.after(function()
  local changed = open
  open = {}
  for view, followers in pairs(changed) do
    if api.nvim_buf_is_valid(view.buf) then
      lock(view, followers)
    end
  end
end)

local function create(session)
  require('pi.highlight').setup()
  local view = setmetatable({ session = session, blocks = {}, turns = {} }, View)
  view.buf = api.nvim_create_buf(false, true)
  require('pi.session').own_buffer(view.buf, session)
  vim.bo[view.buf].undolevels = -1
  -- An empty buffer without a name would be taken by the next :edit.
  local where = vim.fn.fnamemodify(session.cwd, ':~')
  local first = ('· pi in %s. :Pi TEXT or i asks, g? shows the keys.'):format(where)
  api.nvim_buf_set_lines(view.buf, 0, -1, true, { first })
  view.kind = 'meta'
  vim.bo[view.buf].modifiable = false
  -- `:q!` and ZQ throw the text away, though the buffer stays.
  api.nvim_create_autocmd('BufUnload', {
    buffer = view.buf,
    callback = function()
      view.lost = true
    end,
  })
  vim.bo[view.buf].filetype = 'pi'
  if not vim.b[view.buf].did_ftplugin then -- filetype plugins are off
    api.nvim_buf_call(view.buf, function()
      vim.cmd('runtime ftplugin/pi.lua')
    end)
  end
  return view
end

-- Lets a view take the windows of an older one, which goes.
local function replace(old, view)
  if old and api.nvim_buf_is_valid(old.buf) then
    for _, win in ipairs(vim.fn.win_findbuf(old.buf)) do
      api.nvim_win_set_buf(win, view.buf)
    end
    api.nvim_buf_delete(old.buf, { force = true })
  end
end

--- The view of a session, made when needed.
---@return pi.View
function M.of(session)
  local view = views[session]
  if not view or view.lost then
    local old = view
    view = create(session)
    views[session] = view
    bus.emit({ type = 'view_created', view = view }, session)
    replace(old, view)
    if old and session.id then
      view:rename('pi://' .. session.id)
      session:show_again()
    end
  end
  return view
end

--- The view that a buffer shows, or nil.
function M.of_buffer(buf)
  for _, view in pairs(views) do
    if view.buf == buf then
      return view
    end
  end
end

--- Gives the session a new, empty view, which takes the windows of the old one.
function M.renew(session)
  local old = views[session]
  views[session] = nil
  local view = M.of(session)
  replace(old, view)
  return view
end

--- Names the buffer after the conversation.
function View:rename(name)
  if
    api.nvim_buf_get_name(self.buf) == ''
    and vim.fn.bufnr('^' .. vim.fn.escape(name, '[]*?{}\\') .. '$') < 0
  then
    api.nvim_buf_set_name(self.buf, name)
  end
end

--- Changes the buffer with edit().
function View:change(edit)
  bus.batch(function()
    unlock(self)
    edit()
  end)
end

-- Cuts between two characters.
local function cut(text, bytes)
  while bytes > 0 and (text:byte(bytes + 1) or 0) >= 0x80 and text:byte(bytes + 1) < 0xc0 do
    bytes = bytes - 1
  end
  return text:sub(1, bytes)
end

--- A line as it may be shown.
function M.fold_line(line, max)
  max = max or LINE_BYTES
  if line:find('[%z\n]') then -- NUL would become a line end
    line = line:gsub('[%z\n]', ' ')
  end
  if #line <= max then
    return line
  end
  local shown = cut(line, max)
  return ('%s… (+%d bytes)'):format(shown, #line - #shown)
end

--- Adds whole lines.
function View:add_lines(lines)
  self:change(function()
    api.nvim_buf_set_lines(self.buf, -1, -1, true, vim.tbl_map(M.fold_line, lines))
  end)
  self.hidden = nil
end

--- What comes now is of this kind; something else than before stands apart.
function View:paragraph(kind, always)
  if always or kind ~= self.kind then
    self:add_lines({ '' })
  end
  self.kind = kind
end

-- Shows how much of the last line is left out.
function View:show_hidden()
  local row = api.nvim_buf_line_count(self.buf) - 1
  self.hidden_mark = api.nvim_buf_set_extmark(self.buf, namespace, row, 0, {
    id = self.hidden_mark,
    virt_text = { { ('… (+%d bytes)'):format(self.hidden), 'PiMeta' } },
  })
end

-- Adds a piece without line ends to the last line.
function View:extend_line(piece)
  local row = api.nvim_buf_line_count(self.buf) - 1
  local length = #api.nvim_buf_get_lines(self.buf, row, row + 1, true)[1]
  local shown = cut(piece, math.max(LINE_BYTES - length, 0))
  if #shown > 0 then
    api.nvim_buf_set_text(self.buf, row, length, row, length, { shown })
  end
  if #shown < #piece then
    self.hidden = (self.hidden or 0) + #piece - #shown
    self:show_hidden()
  end
end

--- Adds text that goes on where the last one ended; each line begins with prefix.
function View:add_text(text, prefix)
  self:change(function()
    local pieces = vim.split(text:gsub('%z', ' '):gsub('\r\n', '\n'), '\n', { plain = true })
    self:extend_line(pieces[1])
    if #pieces > 1 then
      self.hidden, self.hidden_mark = nil, nil
      local lines = {}
      for i = 2, #pieces do
        lines[i - 1] = M.fold_line(prefix .. pieces[i])
      end
      api.nvim_buf_set_lines(self.buf, -1, -1, true, lines)
    end
  end)
end

--- Remembers that a turn of the user begins with the next line.
function View:mark_turn()
  local row = api.nvim_buf_line_count(self.buf) - 1
  table.insert(self.turns, api.nvim_buf_set_extmark(self.buf, namespace, row, 0, {}))
end

-- The rows of marks that still exist, in order.
local function rows(buf, marks)
  local found = {}
  for _, mark in ipairs(marks) do
    local row = api.nvim_buf_get_extmark_by_id(buf, namespace, mark, {})[1]
    if row then
      table.insert(found, row)
    end
  end
  table.sort(found)
  return found
end

--- The row of the next turn (direction 1) or the one before (-1), or nil.
function View:turn_from(row, direction)
  local found = rows(self.buf, self.turns)
  local first, last = 1, #found
  if direction < 0 then
    first, last = last, first
  end
  for i = first, last, direction do
    if (found[i] - row) * direction > 0 then
      return found[i]
    end
  end
end

---@class pi.Block
---@field title string
---@field size number how many lines stand below the title
---@field mark number the extmark of the title's line

--- Adds a block; the caller may keep more in it.
---@return pi.Block
function View:add_block(title, lines)
  local block = { title = title, size = #lines, view = self }
  self:add_lines(vim.list_extend({ title }, lines))
  self:change(function()
    local row = api.nvim_buf_line_count(self.buf) - 1 - #lines
    block.mark = api.nvim_buf_set_extmark(self.buf, namespace, row, 0, {})
    self.blocks[block.mark] = block
  end)
  return block
end

--- The row of a block's title, or nil when it is gone.
function View:row_of(block)
  return api.nvim_buf_get_extmark_by_id(self.buf, namespace, block.mark, {})[1]
end

--- Gives a block another title and other lines. Decoration: fields of nvim_buf_set_extmark.
function View:set_block(block, title, lines, decoration)
  self:change(function()
    local row = self:row_of(block)
    if not row then
      return
    end
    if title ~= block.title then
      local old = api.nvim_buf_get_lines(self.buf, row, row + 1, true)[1]
      api.nvim_buf_set_text(self.buf, row, 0, row, #old, { M.fold_line(title) })
      block.title = title
    end
    if lines then
      api.nvim_buf_set_lines(
        self.buf,
        row + 1,
        row + 1 + block.size,
        true,
        vim.tbl_map(M.fold_line, lines)
      )
      block.size = #lines
    end
    local options = vim.tbl_extend('force', decoration or {}, { id = block.mark })
    api.nvim_buf_set_extmark(self.buf, namespace, row, 0, options)
  end)
end

--- The block that a row belongs to, and how far below its title it is.
function View:block_at(row)
  local mark = api.nvim_buf_get_extmarks(self.buf, namespace, { row, -1 }, 0, {})
  for _, m in ipairs(mark) do
    local block = self.blocks[m[1]]
    if block then
      local below = row - m[2]
      return below <= block.size and block or nil, below
    end
  end
end

return M
