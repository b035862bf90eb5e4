-- What goes along with a prompt: the mentions in its text (@file:1-9, @buffer, …) and the
-- list of :Pi add. They become text when the prompt is sent, so from the buffers as they
-- are then.

local api = vim.api
local M = {}

local SECTION_BYTES = 64 * 1024
local ENTRIES = 200 -- of diagnostics and quickfix lists
local DIFF_MS = 5000

M.words = { 'buffer', 'diagnostics', 'quickfix', 'diff', 'selection' }

--- The buffer that the user means: the current one, or the last one in a file's window.
---@return number
function M.buffer()
  local function fits(win)
    return win ~= 0 and vim.bo[api.nvim_win_get_buf(win)].buftype == ''
  end
  local wins = { api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
  for _, win in ipairs(vim.list_extend(wins, api.nvim_tabpage_list_wins(0))) do
    if fits(win) then
      return api.nvim_win_get_buf(win)
    end
  end
  return api.nvim_get_current_buf()
end

local function name_of(buf, cwd)
  local name = api.nvim_buf_get_name(buf)
  if name == '' then
    return ('[buffer %d]'):format(buf)
  end
  return M.short(name, cwd)
end

--- A path as seen from the session's directory.
function M.short(path, cwd)
  local prefix = cwd:gsub('/$', '') .. '/'
  return vim.startswith(path, prefix) and path:sub(#prefix + 1) or path
end

--- The mention of lines of a buffer: "@src/a.c:3-9".
function M.range(buf, from, to, cwd)
  return ('@%s:%d-%d'):format(name_of(buf, cwd), from, to)
end

-- A text in a fence that does not occur in it.
local function fenced(title, text, language)
  if #text > SECTION_BYTES then
    text = text:sub(1, SECTION_BYTES):gsub('[^\n]*$', '') .. '[cut]'
  end
  local fence = '```'
  while text:find(fence, 1, true) do
    fence = fence .. '`'
  end
  return ('%s\n%s%s\n%s\n%s'):format(title, fence, language or '', text, fence)
end

local function lines_of(buf, from, to)
  return table.concat(api.nvim_buf_get_lines(buf, from - 1, to, false), '\n')
end

local function buffer_section(buf, from, to, cwd)
  local unsaved = vim.bo[buf].modified and ', with unsaved changes' or ''
  local title = ('%s, lines %d to %d%s:'):format(name_of(buf, cwd), from, to, unsaved)
  return fenced(title, lines_of(buf, from, to), vim.bo[buf].filetype)
end

-- Of @file:1-9: from the buffer when the file is open, else from the disk.
local function file_section(path, from, to, cwd)
  -- Not expand(): it would run what stands in backticks.
  local full = path:find('^[/~]') and vim.fn.fnamemodify(path, ':p') or cwd .. '/' .. path
  local number = path:match('^%[buffer (%d+)%]$')
  local buf = tonumber(number) or require('pi.buffer').find(vim.loop.fs_realpath(full) or full)
  if buf and api.nvim_buf_is_valid(buf) then
    return buffer_section(buf, from, math.min(to, api.nvim_buf_line_count(buf)), cwd)
  elseif vim.fn.filereadable(full) == 1 then
    local lines = vim.list_slice(vim.fn.readfile(full, '', to), from)
    return fenced(('%s, lines %d to %d:'):format(path, from, to), table.concat(lines, '\n'))
  end
end

local sections = {}

function sections.buffer(buf, cwd)
  return buffer_section(buf, 1, api.nvim_buf_line_count(buf), cwd)
end

function sections.selection(buf, cwd)
  local from, to = api.nvim_buf_get_mark(buf, '<')[1], api.nvim_buf_get_mark(buf, '>')[1]
  if from == 0 then
    return nil
  end
  return buffer_section(buf, math.min(from, to), math.max(from, to), cwd)
end

local severities = { 'error', 'warning', 'info', 'hint' }

function sections.diagnostics(_, cwd)
  local lines = {}
  for _, d in ipairs(vim.diagnostic.get()) do
    local where = ('%s:%d:%d'):format(name_of(d.bufnr, cwd), d.lnum + 1, d.col + 1)
    table.insert(
      lines,
      ('%s: %s: %s'):format(where, severities[d.severity], d.message:gsub('\n', ' '))
    )
  end
  local text = table.concat(vim.list_slice(lines, 1, ENTRIES), '\n')
  return fenced(('%d diagnostics of the editor:'):format(#lines), text)
end

function sections.quickfix(_, cwd)
  local lines = {}
  for _, entry in ipairs(vim.fn.getqflist()) do
    local where = entry.bufnr > 0 and ('%s:%d: '):format(name_of(entry.bufnr, cwd), entry.lnum)
      or ''
    table.insert(lines, where .. entry.text)
  end
  local text = table.concat(vim.list_slice(lines, 1, ENTRIES), '\n')
  return fenced(('The quickfix list, %d entries:'):format(#lines), text)
end

-- The changes that git sees, without keeping Neovim waiting.
local function git_diff(cwd, callback)
  local output, errors = {}, {}
  local ok, job = pcall(
    vim.fn.jobstart,
    { 'git', '--no-optional-locks', '--no-pager', 'diff', 'HEAD' },
    {
      cwd = cwd,
      stdout_buffered = true,
      stderr_buffered = true,
      on_stdout = function(_, lines)
        output = lines
      end,
      on_stderr = function(_, lines)
        errors = lines
      end,
      on_exit = function(_, code)
        local failed = code ~= 0 and '[git failed: ' .. table.concat(errors, ' ') .. ']'
        callback(fenced('git diff HEAD:', failed or vim.trim(table.concat(output, '\n')), 'diff'))
      end,
    }
  )
  if not ok or job <= 0 then
    callback('[git diff HEAD: git is not there]')
    return
  end
  vim.defer_fn(function()
    pcall(vim.fn.jobstop, job)
  end, DIFF_MS)
end

-- The mentions of a text, without the "@", each once.
local function mentions(text)
  local found, seen = {}, {}
  for before, word in (' ' .. text):gmatch('([%s(])@(%S+)') do
    local name = word:gsub('[.,;:!?)]+$', '')
    if before and not seen[name] then
      seen[name] = true
      table.insert(found, name)
    end
  end
  return found
end

-- "[buffer 3]:1-2" has a space, which is no mention otherwise.
local function unnamed(text)
  local found = {}
  for name in text:gmatch('@(%[buffer %d+%]:%d+%-%d+)') do
    table.insert(found, name)
  end
  return found
end

--- Calls done(text) with the prompt and all that goes along; takes the list of the session.
function M.expand(text, session, done)
  local cwd, buf = session.cwd, M.buffer()
  local names = vim.list_extend(mentions(text), unnamed(text))
  local listed = session.context or {}
  session.context = nil
  for _, name in ipairs(listed) do
    if not vim.tbl_contains(names, name) then
      table.insert(names, name)
    end
  end
  local parts, wants_diff = { text }, false
  local mentioned = {}
  for _, name in ipairs(names) do
    local path, from, to = name:match('^(.-):(%d+)%-?(%d*)$')
    if name == 'diff' then
      wants_diff = true
    elseif sections[name] then
      local section = sections[name](buf, cwd)
      parts[#parts + 1] = section
    elseif path then
      local section = file_section(path, tonumber(from), tonumber(to) or tonumber(from), cwd)
      parts[#parts + 1] = section
    elseif vim.tbl_contains(listed, name) then
      table.insert(mentioned, '@' .. name)
    end
  end
  if #mentioned > 0 then
    table.insert(parts, 2, 'Files to look at: ' .. table.concat(mentioned, ' '))
  end
  local function finish(diff)
    table.insert(parts, diff)
    done(table.concat(parts, '\n\n'))
  end
  if wants_diff then
    git_diff(cwd, finish)
  else
    finish()
  end
end

local aliases = { diag = 'diagnostics', qf = 'quickfix' }

--- Adds to what goes along with the next prompt: a word of M.words or a path.
function M.add(session, name)
  name = aliases[name] or name:gsub('^@', '')
  session.context = session.context or {}
  if not vim.tbl_contains(session.context, name) then
    table.insert(session.context, name)
  end
  session:emit({ type = 'context_changed' })
end

--- Takes one away again, or all.
function M.drop(session, name)
  name = name and (aliases[name] or name:gsub('^@', ''))
  session.context = name
      and vim.tbl_filter(function(other)
        return other ~= name
      end, session.context or {})
    or nil
  session:emit({ type = 'context_changed' })
end

--- The list for people: "@a.c:1-9 @diff", or ''.
function M.label(session)
  local names = {}
  for _, name in ipairs(session.context or {}) do
    table.insert(names, '@' .. name)
  end
  return table.concat(names, ' ')
end

return M
