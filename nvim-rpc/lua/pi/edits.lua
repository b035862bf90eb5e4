-- The commands for what the agent changed: go there, look at it, accept it, take it back.

local api = vim.api
local bus = require('pi.bus')
local command = require('pi.command')
local complete = require('pi.complete')
local change = require('pi.change')
local notify = require('pi.notify')
local review = require('pi.review')
local view = require('pi.diffview')
local M = {}

local NOTE_BYTES = 4000 -- of the lines that the model is told of

local function short(path)
  return vim.fn.fnamemodify(path, ':~:.')
end

local function count_of(n, word)
  return ('%d %s%s'):format(n, word, n == 1 and '' or 's')
end

-- The session that a file belongs to, or nil.
local function session_of(path)
  local best
  for _, session in ipairs(require('pi.session').all()) do
    if vim.startswith(path, session.cwd .. '/') and (not best or #session.cwd > #best.cwd) then
      best = session
    end
  end
  return best or require('pi.session').current()
end

-- Tells the model with its next request; without an agent there is nobody to tell.
local function tell_model(path, text)
  local session = session_of(path)
  if session and session.connection then
    session:notify('add_note', { text = text })
  end
end

local function touches(h, first, last)
  if h.count == 0 then
    return first <= h.row and h.row <= last + 1
  end
  return h.row <= last and first < h.row + h.count
end

-- The hunks that a command means: { file, hunks } for each file.
local function chosen(c)
  local shown = view.chosen(c)
  if shown then
    return shown
  end
  local file = review.file(api.nvim_get_current_buf())
  if c.bang then
    local list = file and #review.pending(file) > 0 and { file } or review.files()
    return vim.tbl_map(function(f)
      return { f, review.pending(f) }
    end, list)
  end
  local first, last = c.line1 - 1, c.line2 - 1
  if c.range == 0 then
    first = api.nvim_win_get_cursor(0)[1] - 1
    last = first
  end
  local list = vim.tbl_filter(function(h)
    return touches(h, first, last)
  end, file and review.pending(file) or {})
  return #list > 0 and { { file, list } } or {}
end

local function left_over()
  local n = 0
  for _, file in ipairs(review.files()) do
    n = n + #review.pending(file)
  end
  return n == 0 and 'none is left' or ('%s left'):format(n)
end

local function require_some(list)
  if #list == 0 then
    local here = review.files()
    error(#here == 0 and 'nothing waits for a review' or 'no change here: :Pi next goes to one', 0)
  end
end

local function accept(c)
  local list = chosen(c)
  require_some(list)
  local n = 0
  for _, entry in ipairs(list) do
    n = n + #entry[2]
    review.accept(entry[1], entry[2])
  end
  view.refresh()
  notify(('accepted %s, %s'):format(count_of(n, 'change'), left_over()))
end

-- What of a file was taken back, for the model.
local function note_of(file, list, reason)
  local lines = {}
  for _, h in ipairs(list) do
    table.insert(lines, ('@@ line %d @@'):format(h.row + 1))
    for _, line in ipairs(h.new) do
      table.insert(lines, '-' .. line)
    end
    for _, line in ipairs(h.old) do
      table.insert(lines, '+' .. line)
    end
  end
  local text = table.concat(lines, '\n')
  if #text > NOTE_BYTES then
    text = text:sub(1, NOTE_BYTES):gsub('[^\n]*$', '') .. '…'
  end
  return ('The user took back %s that you made in %s%s. This was done to the file:\n%s'):format(
    count_of(#list, 'change'),
    short(file.path),
    reason ~= '' and (', because: ' .. reason) or '',
    text
  )
end

-- Why a buffer cannot be changed back, or nil.
local function obstacle(buf)
  local state = require('pi.disk').check(buf)
  if state == 'conflict' or state == 'deleted' then
    return 'its file changed on disk'
  elseif vim.bo[buf].readonly or not vim.bo[buf].modifiable then
    return 'it is read-only'
  end
end

-- A new file that nobody has changed since is removed again.
local function remove_created(file, list, reason)
  local h = list[1]
  if not h.created or file.buf or not vim.deep_equal(vim.fn.readfile(file.path), h.new) then
    return false
  end
  local note = note_of(file, list, reason) .. '\nThe file was deleted.'
  local ok, err = os.remove(file.path)
  if not ok then
    error(err, 0)
  end
  review.drop(file, list)
  tell_model(file.path, note)
  return true
end

local function reject_in(file, list, reason)
  if remove_created(file, list, reason) then
    return #list
  end
  local buf = review.load(file)
  local problem = obstacle(buf)
  if problem then
    error(('%s cannot be changed: %s'):format(short(file.path), problem), 0)
  end
  -- A buffer that was just opened may have lost some of them.
  local there = vim.tbl_filter(function(h)
    return vim.tbl_contains(list, h)
  end, review.pending(file))
  local note = note_of(file, there, reason)
  local failure = review.reject(file, there)
  if failure then
    notify(('%s was not saved: %s'):format(short(file.path), failure), vim.log.levels.WARN)
  end
  tell_model(file.path, note)
  return #there
end

local function reject(c)
  local list = chosen(c)
  require_some(list)
  local n = 0
  for _, entry in ipairs(list) do
    n = n + reject_in(entry[1], entry[2], vim.trim(c.args))
  end
  view.refresh()
  notify(('took back %s, %s'):format(count_of(n, 'change'), left_over()))
end

-- What the user undid by himself since the model was asked last.
local function tell_of_undone(session)
  for _, file in ipairs(review.undone()) do
    if session.connection and session_of(file.path) == session then
      local words = 'The user undid a change that you made in %s (line %d).'
      session:notify('add_note', { text = words:format(short(file.path), file.hunk.row + 1) })
      file.hunk.told = true
    end
  end
end

bus.on('before_prompt', function(_, session)
  tell_of_undone(session)
end)

-- The files that wait, from the one after `path` on.
local function other_files(path, direction)
  local list = review.files()
  if direction < 0 then
    local reversed = {}
    for i = #list, 1, -1 do
      table.insert(reversed, list[i])
    end
    list = reversed
  end
  local from = 1
  for i, file in ipairs(list) do
    if file.path == path then
      from = i + 1
    end
  end
  return vim.list_extend(vim.list_slice(list, from), vim.list_slice(list, 1, from - 1))
end

local function next_in(list, row, direction)
  local found
  for i, h in ipairs(list) do
    if direction > 0 and h.row > row then
      return h, i
    elseif direction < 0 and h.row < row then
      found = { h, i }
    end
  end
  return unpack(found or {})
end

local function show(file, h, i, n)
  if file.buf ~= api.nvim_get_current_buf() then
    if vim.bo.buftype == '' then
      vim.cmd('edit ' .. vim.fn.fnameescape(file.path))
    else
      require('pi.window').show_file(file.path)
    end
  end
  vim.cmd("normal! m'")
  local last = api.nvim_buf_line_count(0)
  api.nvim_win_set_cursor(0, { math.min(h.row + 1, last), 0 })
  vim.cmd('normal! zv')
  notify(('change %d of %d in %s'):format(i, n, short(file.path)))
end

--- Goes to the next change (1) or the one before (-1), in this file or else in another.
---@param stay boolean|nil in this file only
function M.go(direction, stay)
  local file = review.file(api.nvim_get_current_buf())
  local list = file and review.pending(file) or {}
  local h, i = next_in(list, api.nvim_win_get_cursor(0)[1] - 1, direction)
  if not h and stay then
    local where = direction > 0 and 'below: :Pi next' or 'above: :Pi prev'
    notify(('no change %s goes to another file'):format(where))
    return
  elseif not h then
    file = other_files(file and file.path, direction)[1]
    if not file then
      error('nothing waits for a review', 0)
    end
    list = review.pending(file)
    i = direction > 0 and 1 or #list
    h = list[i]
  end
  show(file, h, i, #list)
end

local function go(direction)
  return function()
    for _ = 1, vim.v.count1 do
      M.go(direction)
    end
  end
end

--- What ]c (1) and [c (-1) do: as M.go() with the count that was typed, in this file.
function M.step(direction)
  for _ = 1, vim.v.count1 do
    M.go(direction, true)
  end
end

-- The first line of a hunk that says something.
local function first_words(h)
  local line = ''
  for _, candidate in ipairs(vim.list_extend(vim.list_slice(h.new), h.old)) do
    line = line:find('%S') and line or candidate
  end
  return ('+%d -%d  %s'):format(#h.new, #h.old, vim.trim(line))
end

local function quickfix_items(file)
  local items = {}
  local function add(list, prefix)
    for _, h in ipairs(list) do
      table.insert(
        items,
        { filename = file.path, lnum = h.row + 1, text = prefix .. first_words(h) }
      )
    end
  end
  add(review.pending(file), '')
  add(file.accepted, '(accepted) ')
  table.sort(items, function(a, b)
    return a.lnum < b.lnum
  end)
  return items
end

local LIST = 'pi: changes'

--- Fills the quickfix list with every change of the session that was not taken back. A list
--- of before is replaced; without changes that of the user stays.
function M.quickfix()
  local items = {}
  for _, file in ipairs(review.files(true)) do
    vim.list_extend(items, quickfix_items(file))
  end
  local again = vim.fn.getqflist({ title = 0 }).title == LIST
  if again or #items > 0 then
    vim.fn.setqflist({}, again and 'r' or ' ', { title = LIST, items = items })
  end
  notify(
    #items == 0 and 'there are no changes'
      or ('%s, :copen shows them'):format(count_of(#items, 'change'))
  )
end

-- Takes back the last change while nothing else came after it.
local function undo()
  local last = review.history[#review.history]
  if not last then
    error('there is no change to undo', 0)
  elseif not last.buf or not api.nvim_buf_is_loaded(last.buf) then
    error(('%s is not open: see :Pi diff %s'):format(short(last.path), short(last.path)), 0)
  end
  if change.state(last.buf) ~= last.seq then
    error(('%s was changed since; use :Pi reject, or u in it'):format(short(last.path)), 0)
  end
  table.remove(review.history)
  local clean = not vim.bo[last.buf].modified
  review.before_change(last.buf)
  local before = change.lines(last.buf)
  change.run(last.buf, function()
    vim.cmd('silent undo')
  end, clean and function()
    require('pi.save').write(last.buf)
  end)
  review.redraw(last.buf)
  local what = require('pi.hunks').of(change.lines(last.buf), before)
  tell_model(last.path, note_of({ path = last.path }, what, ''))
  notify(('took back the last change of %s'):format(short(last.path)))
end

local function names(lead)
  local all = vim.tbl_map(function(file)
    return short(file.path)
  end, review.files())
  return complete.starting_with(all, lead)
end

local function register(name, desc, run, more)
  command.register(name, vim.tbl_extend('force', { desc = desc, run = run }, more or {}))
end

local several = { bang = true, range = true }
register('accept', 'keep the change under the cursor; ! all', accept, several)
register('reject', 'take back the change under the cursor, and why; ! all', reject, several)
register('next', 'go to the next change', go(1))
register('prev', 'go to the change before', go(-1))
register('edits', 'list all changes in the quickfix list', M.quickfix)
register('undo', 'undo the last change', undo)
register('diff', 'show what was changed', function(c)
  view.open(c.args)
end, { complete = names })
register('review', 'see changes before they are made, or after', function(c)
  if c.args ~= 'before' and c.args ~= 'after' then
    error(':Pi review before, or :Pi review after', 0)
  end
  require('pi.session').ensure():call('set_review', { review = c.args })
  notify('changes are shown ' .. c.args .. ' they are made')
end, {
  complete = function(lead)
    return complete.starting_with({ 'before', 'after' }, lead)
  end,
})
register('removed', 'show or hide the lines that are gone', function()
  local shown = require('pi.signs').show_removed()
  for _, file in ipairs(review.files()) do
    if file.buf then
      review.redraw(file.buf)
    end
  end
  notify('removed lines are ' .. (shown and 'shown' or 'hidden'))
end)

return M
