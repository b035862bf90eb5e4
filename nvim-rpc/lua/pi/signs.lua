-- How hunks that wait look in their buffers: a sign at each line, and above it the lines that
-- are gone. Beside them, while there are some, ]c and [c.

local api = vim.api
local config = require('pi.config')
local M = {}

local namespace = api.nvim_create_namespace('pi-signs')

local SIGNED_LINES = 500 -- of one hunk
local REMOVED_LINES = 12 -- of one hunk
local MAP = 'pi: go to a change'

local drawn = {} -- buffer -> what was drawn
local hidden = false -- the removed lines

local texts = {
  bar = { add = '▎', change = '▎', delete = '▎' },
  -- To be told apart without colours.
  text = { add = '+', change = '~', delete = '-' },
}
local highlights = { add = 'PiAdd', change = 'PiChange', delete = 'PiDelete' }

local function has_colours()
  local term = vim.env.TERM or ''
  return vim.env.NO_COLOR == nil and term ~= 'dumb' and not term:find('^vt%d')
end

local function style()
  return config.get('signs') or (has_colours() and 'bar' or 'text')
end

local function kind_of(h)
  return h.count == 0 and 'delete' or #h.old == 0 and 'add' or 'change'
end

local function mark(buf, row, options)
  options.priority = 8 -- below diagnostics, above what compares with git
  api.nvim_buf_set_extmark(buf, namespace, row, 0, options)
end

local function draw_signs(buf, h)
  local kind = kind_of(h)
  local text, last = texts[style()][kind], api.nvim_buf_line_count(buf) - 1
  for row = h.row, h.row + math.min(math.max(h.count, 1), SIGNED_LINES) - 1 do
    mark(buf, math.min(row, last), { sign_text = text, sign_hl_group = highlights[kind] })
  end
end

local function expand_tabs(buf, text)
  local width = vim.bo[buf].tabstop
  return (text:gsub('()\t', function(at)
    return (' '):rep(width - (at - 1) % width)
  end))
end

--- The first of these lines as virtual ones.
function M.virtual(buf, lines, group, prefix)
  local shown = {}
  for i = 1, math.min(#lines, REMOVED_LINES) do
    local text = prefix .. expand_tabs(buf, lines[i])
    table.insert(shown, { { text .. (' '):rep(vim.o.columns - #text), group } })
  end
  if #lines > REMOVED_LINES then
    local more = ('%s… %d lines more, :Pi diff shows them'):format(prefix, #lines - REMOVED_LINES)
    table.insert(shown, { { more, 'PiMeta' } })
  end
  return shown
end

--- Lines above the first one are only seen when the window has room for them.
function M.make_room(buf, count)
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    api.nvim_win_call(win, function()
      local view = vim.fn.winsaveview()
      if view.topline == 1 and view.topfill < count then
        view.topfill = count
        vim.fn.winrestview(view)
      end
    end)
  end
end

local function draw_removed(buf, h)
  if #h.old == 0 or hidden then
    return
  end
  local lines = M.virtual(buf, h.old, 'PiRemoved', style() == 'text' and '- ' or '')
  local last = api.nvim_buf_line_count(buf) - 1
  mark(buf, math.min(h.row, last), { virt_lines = lines, virt_lines_above = h.row <= last })
  if h.row == 0 then
    M.make_room(buf, #lines)
  end
end

-- The keys ]c and [c, unless they are the user's. In a window that shows a difference they
-- mean what they always mean.
local function map(buf, lhs, direction)
  vim.keymap.set('n', lhs, function()
    if vim.wo.diff then
      return lhs
    end
    return ("<Cmd>lua require('pi.edits').step(%d)<CR>"):format(direction)
  end, { buffer = buf, expr = true, desc = MAP })
end

local keys = { [']c'] = 1, ['[c'] = -1 }

local function set_keys(buf, wanted)
  if not api.nvim_buf_is_loaded(buf) then
    return
  end
  api.nvim_buf_call(buf, function()
    for lhs, direction in pairs(keys) do
      local there = vim.fn.maparg(lhs, 'n', false, true)
      if wanted and vim.tbl_isempty(there) then
        map(buf, lhs, direction)
      elseif not wanted and there.desc == MAP then
        vim.keymap.del('n', lhs, { buffer = buf })
      end
    end
  end)
end

-- What decides how it looks; marks move by themselves.
local function signature(list)
  local parts = { style(), tostring(hidden) }
  for _, h in ipairs(list) do
    table.insert(parts, ('%d:%d:%d'):format(h.id or 0, h.count, #h.old))
  end
  return table.concat(parts, ' ')
end

-- Whether the marks that were drawn last are still where the hunks are.
local function in_place(buf, list)
  for _, h in ipairs(list) do
    local row = math.min(h.row, api.nvim_buf_line_count(buf) - 1)
    if #api.nvim_buf_get_extmarks(buf, namespace, { row, 0 }, { row, -1 }, { limit = 1 }) == 0 then
      return false
    end
  end
  return true
end

--- Draws the hunks that wait in a buffer, and nothing else.
---@param list pi.Hunk[]
function M.draw(buf, list)
  local now = signature(list)
  if drawn[buf] == now and in_place(buf, list) then
    return
  end
  api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, h in ipairs(list) do
    draw_signs(buf, h)
    draw_removed(buf, h)
  end
  set_keys(buf, #list > 0)
  drawn[buf] = now
end

function M.forget(buf)
  drawn[buf] = nil
end

local function set_highlights()
  local added = vim.fn.hlexists('Added') == 1
  local links = {
    PiAdd = added and 'Added' or 'diffAdded',
    PiChange = added and 'Changed' or 'diffChanged',
    PiDelete = added and 'Removed' or 'diffRemoved',
    PiRemoved = 'DiffDelete',
    PiProposed = 'DiffAdd',
  }
  if not added then -- defined by syntax/diff.vim only
    for name, link in pairs({
      diffAdded = 'Identifier',
      diffChanged = 'PreProc',
      diffRemoved = 'Special',
    }) do
      api.nvim_set_hl(0, name, { default = true, link = link })
    end
  end
  for name, link in pairs(links) do
    api.nvim_set_hl(0, name, { default = true, link = link })
  end
end

set_highlights()
api.nvim_create_autocmd('ColorScheme', {
  group = api.nvim_create_augroup('PiSigns', { clear = true }),
  callback = set_highlights,
})

--- Shows or hides the removed lines; without a value the other of both.
function M.show_removed(show)
  hidden = show == false or show == nil and not hidden
  return not hidden
end

return M
