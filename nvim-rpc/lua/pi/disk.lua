-- The files behind buffers. A clean buffer follows its file; where both changed, or the file
-- is gone, the buffer stays as it is and the user is told. Nothing here asks.

local api = vim.api
local bus = require('pi.bus')
local change = require('pi.change')
local interrupt = require('pi.interrupt')
local uv = vim.uv or vim.loop
local M = {}

-- A larger file is read again by Neovim itself, without marks that follow.
local MERGE_MAX = 16 * 1024 * 1024

local group = api.nvim_create_augroup('PiDisk', { clear = true })
local stamps = {} -- buffer -> stamp of its file when both were compared

local function stamp_of(path)
  local s = uv.fs_stat(path)
  return s and table.concat({ s.dev, s.ino, s.size, s.mode, s.mtime.sec, s.mtime.nsec }, ':')
    or 'none'
end

-- What Neovim itself read, wrote or renamed was not compared yet.
api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'BufFilePost', 'BufWipeout' }, {
  group = group,
  callback = function(args)
    stamps[args.buf] = nil
  end,
})

local function forget_conflict(buf)
  if api.nvim_buf_is_valid(buf) then
    vim.b[buf].pi_conflict = nil
  end
end

local words = {
  conflict = '%s is unsaved and changed on disk, too: see :Pi diff',
  deleted = '%s was deleted on disk; its text is still here',
}

-- Neovim tells only once that buffer and disk have both changed, and so do we.
local function remember_conflict(buf, state)
  vim.b[buf].pi_conflict = state
  api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost' }, {
    group = group,
    buffer = buf,
    once = true,
    callback = function()
      forget_conflict(buf)
    end,
  })
  require('pi.notify')(words[state]:format(change.name(buf)), vim.log.levels.WARN)
  local file = api.nvim_buf_get_name(buf)
  bus.user('PiConflict', { buf = buf, file = file, reason = state })
end

-- The lines of a file as its buffer would have them, and whether the last one is ended; nil
-- if only Neovim knows.
local function read_lines(buf)
  local file = io.open(api.nvim_buf_get_name(buf), 'rb')
  local bytes = file and file:read(MERGE_MAX + 1)
  if file then
    file:close()
  end
  if not file or (bytes and #bytes > MERGE_MAX) then
    return nil
  end
  local bo = vim.bo[buf]
  bytes = bytes or ''
  if bo.fileencoding ~= '' and bo.fileencoding ~= 'utf-8' then
    bytes = change.convert(bytes, bo.fileencoding, 'utf-8')
  elseif bo.bomb then
    bytes = bytes:gsub('^\239\187\191', '')
  end
  if not bytes then
    return nil
  end
  local eol = bo.fileformat == 'mac' and '\r' or '\n'
  if bytes == '' then
    return {}, vim.bo[buf].endofline
  end
  local ended = bytes:sub(-1) == eol
  local lines = vim.split(ended and bytes:sub(1, -2) or bytes, eol, { plain = true })
  if bo.fileformat == 'dos' then
    for i, line in ipairs(lines) do
      lines[i] = line:gsub('\r$', '')
    end
  end
  return lines, ended
end

-- Changes a clean buffer, whatever its options say, in one step of undo. A change of a
-- read-only one would be warned of, with a pause.
local function run_writable(buf, edit)
  local bo = vim.bo[buf]
  local editable, readonly = bo.modifiable, bo.readonly
  bo.modifiable, bo.readonly = true, false
  change.run(buf, edit)
  bo.modifiable, bo.readonly, bo.modified = editable, readonly, false
end

-- Takes what changed in the file over into its clean buffer, as one step of undo. Returns
-- whether anything did.
local function merge(buf)
  local lines, ended = read_lines(buf)
  if not lines then
    return false
  end
  local before = change.content(buf)
  if vim.deep_equal(before, lines) and vim.bo[buf].endofline == ended then
    return false
  end
  run_writable(buf, function()
    change.set_lines(buf, before, lines)
    vim.bo[buf].endofline = ended
  end)
  return true
end

-- Lets Neovim compare the time stamps, with an answer to each of its questions. Returns what
-- it found ('same', 'conflict', 'deleted') and whether it read the file again. After a merge
-- it must: only so the steps of undo know that they are no longer what the file is.
local function compare(buf, merged)
  local state, reloaded = 'same', false
  local watch = api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buf,
    callback = function()
      local reason = vim.v.fcs_reason
      if reason == 'conflict' or reason == 'deleted' then
        state = reason
        vim.v.fcs_choice = ''
      elseif reason == 'time' and not merged then
        vim.v.fcs_choice = 'ask' -- which it does not: it takes note of the time
      else
        reloaded = true
        vim.v.fcs_choice = 'reload'
      end
    end,
  })
  api.nvim_buf_call(buf, function()
    -- With 'autoread' the event is not fired for a clean buffer.
    local own = vim.fn.eval('&l:autoread') -- neither 0 nor 1 when it is not set here
    vim.cmd('setlocal noautoread')
    -- Of a long file reading it again would throw away all of undo.
    local undo_lines = vim.o.undoreload
    vim.o.undoreload = -1
    pcall(vim.cmd, 'silent checktime ' .. buf)
    vim.o.undoreload = undo_lines
    local names = { [0] = 'noautoread', [1] = 'autoread' }
    vim.cmd('setlocal ' .. (names[own] or 'autoread<'))
  end)
  pcall(api.nvim_del_autocmd, watch)
  return state, reloaded
end

-- Reading a file again is a step of undo, and one that does nothing where the text was the
-- same before: it is taken out of the user's way. (An empty buffer would not be one of an
-- empty file any more.)
local function drop_reload(buf, before, state)
  local has_step = change.state(buf) ~= state
  if has_step and not change.is_empty(buf) and vim.deep_equal(before, change.lines(buf)) then
    run_writable(buf, function()
      vim.cmd('silent undo')
    end)
  end
end

-- The user took back what was in conflict, so the file may be read.
local function read_again(buf)
  local before, state = change.lines(buf), change.state(buf)
  change.run(buf, function()
    vim.cmd('silent edit')
  end)
  drop_reload(buf, before, state)
end

local function follow_disk(buf, old_state)
  local clean = not vim.bo[buf].modified
  local merged = clean and merge(buf)
  local before, step = clean and change.lines(buf), change.state(buf)
  local state, reloaded = compare(buf, merged)
  if reloaded and clean then
    drop_reload(buf, before, step)
  elseif clean and old_state == 'conflict' and state == 'same' then
    read_again(buf)
  end
  return state
end

-- Compares a buffer with its file: 'same', 'conflict' (both changed) or 'deleted'. A clean
-- buffer follows the file. In the command-line window Neovim cannot look; then it is nil.
function M.check(buf)
  buf = buf == 0 and api.nvim_get_current_buf() or buf
  local old_state = vim.b[buf].pi_conflict
  local stamp = stamp_of(api.nvim_buf_get_name(buf))
  local solved = old_state == 'conflict' and not vim.bo[buf].modified
  if stamp == stamps[buf] and not solved then
    return old_state or 'same'
  end
  if vim.fn.getcmdwintype() ~= '' then
    return nil
  end
  local state = follow_disk(buf, old_state)
  if state == 'same' and old_state == 'conflict' and not solved then
    state = 'conflict' -- Neovim has told already
  end
  stamps[buf] = stamp
  if state == 'same' then
    forget_conflict(buf)
  elseif state ~= old_state then
    remember_conflict(buf, state)
  end
  return state
end

-- The loaded buffers of files below a folder.
function M.buffers_below(folder)
  folder = (uv.fs_realpath(folder) or folder):gsub('/*$', '/')
  return vim.tbl_filter(function(buf)
    local name = api.nvim_buf_get_name(buf)
    if name == '' or not api.nvim_buf_is_loaded(buf) or vim.bo[buf].buftype ~= '' then
      return false
    end
    return vim.startswith(name, folder) or vim.startswith(uv.fs_realpath(name) or '', folder)
  end, api.nvim_list_bufs())
end

--- Lets a buffer follow its file; on_change(buf, before, after) is told if it did.
function M.sync_one(buf, on_change)
  if stamps[buf] == stamp_of(api.nvim_buf_get_name(buf)) then
    return
  end
  require('pi.review').before_change(buf)
  local tick, before = api.nvim_buf_get_changedtick(buf), change.content(buf)
  if change.must_wait(buf) or not M.check(buf) then
    M.sync_later(buf, on_change)
  elseif api.nvim_buf_get_changedtick(buf) ~= tick then
    on_change(buf, before, change.content(buf))
  end
end

function M.sync_later(buf, on_change)
  local sync = interrupt.wrap(function()
    if api.nvim_buf_is_loaded(buf) then
      M.sync_one(buf, on_change)
    end
  end)
  vim.defer_fn(sync, 50)
end

--- The same for each open file below a folder, after a command that may have changed any.
function M.sync(folder, on_change)
  for _, buf in ipairs(M.buffers_below(folder)) do
    M.sync_one(buf, on_change)
  end
end

local function followed(...)
  require('pi.review').changed(...)
end

-- While the agent works, Neovim may look at the disk by itself (on FocusGained) and would ask
-- about what the agent changed.
local guard

bus.on('agent_start', function()
  guard = guard
    or api.nvim_create_autocmd('FileChangedShell', {
      group = group,
      callback = function(args)
        local reason = vim.v.fcs_reason
        if vim.v.fcs_choice ~= '' then
          return -- the user has an answer
        elseif reason == 'conflict' or reason == 'deleted' then
          vim.schedule(function()
            if api.nvim_buf_is_loaded(args.buf) and vim.b[args.buf].pi_conflict ~= reason then
              remember_conflict(args.buf, reason)
            end
          end)
        else
          vim.v.fcs_choice = 'reload'
        end
      end,
    })
end)

bus.on('agent_end', function()
  if
    guard
    and not next(vim.tbl_filter(function(session)
      return session.running
    end, require('pi.session').all()))
  then
    pcall(api.nvim_del_autocmd, guard)
    guard = nil
  end
end)

-- A file that was changed on disk and is open here.
bus.on('file_changed', function(event)
  local buf = not event.inEditor and require('pi.buffer').find(event.path)
  if buf then
    M.sync_one(buf, followed)
  end
end)

-- Tools that change files without saying which.
bus.on('tool_execution_end', function(event, session)
  local silent = { read = true, grep = true, find = true, ls = true, edit = true, write = true }
  if not silent[event.toolName] then
    M.sync(session.cwd, followed)
  end
end)

return M
