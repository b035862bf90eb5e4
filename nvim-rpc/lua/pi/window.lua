-- Windows on conversations. The focus moves only where a function says so. A window is ours
-- as long as it shows our buffer; what the user shows in it instead is left alone.

local api = vim.api
local config = require('pi.config')
local M = {}

local restore = {} -- tab page -> { win, windows, command }: the sizes before win was opened

local function in_tab(buf)
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(win) == buf then
      return win
    end
  end
end

--- The window on a conversation in this tab page, or nil.
function M.find(session)
  return in_tab(require('pi.render').buffer(session))
end

local function is_float(win)
  return api.nvim_win_get_config(win).relative ~= ''
end

-- The windows of the tab page that are no floats and not pi's own.
local function other_windows()
  return vim.tbl_filter(function(win)
    local filetype = vim.bo[api.nvim_win_get_buf(win)].filetype
    return not is_float(win) and filetype ~= 'pi' and filetype ~= 'pi-input'
  end, api.nvim_tabpage_list_wins(0))
end

--- Splits the current window with a command that says how large the new one is, so that
--- no other changes more than it must. The new one has the focus; autocommands see nothing.
---@return number win
function M.split(command, buf)
  vim.cmd('noautocmd keepalt keepjumps ' .. command)
  vim.cmd('noautocmd keepalt keepjumps buffer ' .. buf)
  return api.nvim_get_current_win()
end

-- How the windows around one are arranged: 'row', 'col', or nil for the only one.
local function arrangement(win, layout)
  layout = layout or vim.fn.winlayout()
  if layout[1] == 'leaf' then
    return nil
  end
  for _, child in ipairs(layout[2]) do
    local found = child[1] == 'leaf' and child[2] == win and layout[1] or arrangement(win, child)
    if found then
      return found
    end
  end
end

--- Closes a window; the others do not become equal, whatever 'equalalways' says.
function M.close_window(win)
  local direction = vim.o.eadirection
  vim.o.eadirection = arrangement(win) == 'col' and 'hor' or 'ver'
  pcall(api.nvim_win_close, win, true)
  vim.o.eadirection = direction
end

--- Options of a window on one of our buffers only, whatever is shown in it later.
function M.set_local(win, options)
  api.nvim_win_call(win, function()
    vim.cmd('noautocmd setlocal ' .. table.concat(options, ' '))
  end)
end

local look = {
  'wrap',
  'linebreak',
  'breakindent',
  'breakindentopt=shift:2',
  'nonumber',
  'norelativenumber',
  'nolist',
  'nospell',
  'nocursorline',
  'nocursorcolumn',
  'colorcolumn=',
  'foldcolumn=0',
  'nofoldenable',
  'signcolumn=yes:1',
  'winhighlight=SignColumn:Normal',
}

-- Who has no status line of their own sees here what the agent does.
local bar =
  [[statusline=\ %{v:lua.require'pi'.statusline()}%=%{v:lua.require'pi.status'.place()}\ ]]

local function dress(win, more)
  local options = vim.list_extend(vim.list_slice(look), more)
  if vim.go.statusline == '' then
    table.insert(options, bar)
  end
  M.set_local(win, options)
end

local function float_config()
  local width = math.min(math.max(math.floor(vim.o.columns * 0.8), 20), vim.o.columns - 4)
  local height = math.max(vim.o.lines - 8, 5)
  return {
    relative = 'editor',
    width = width,
    height = height,
    row = 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = 'single',
  }
end

--- Shows another buffer in the lower part of our floating window, with the focus. False
--- when it is no floating window.
function M.split_float(win, buf, height)
  if not is_float(win) then
    return false
  end
  local config_above = float_config()
  local config_below = float_config()
  config_above.height = math.max(config_above.height - height - 2, 3)
  config_below.row = config_above.row + config_above.height + 2
  config_below.height = height
  api.nvim_win_set_config(win, config_above)
  api.nvim_open_win(buf, true, config_below)
  return true
end

local openers = {}

function openers.right(buf)
  local width = math.min(config.get('width'), math.floor(vim.o.columns / 2))
  local win = M.split(('botright vertical %dsplit'):format(width), buf)
  dress(win, { 'winfixwidth' })
  return win
end

function openers.bottom(buf)
  local height = math.min(config.get('height'), math.floor(vim.o.lines / 2))
  local win = M.split(('botright %dsplit'):format(height), buf)
  dress(win, { 'winfixheight' })
  return win
end

function openers.tab(buf)
  vim.cmd('tab split')
  api.nvim_win_set_buf(0, buf)
  dress(0, {})
  return api.nvim_get_current_win()
end

function openers.float(buf)
  local win = api.nvim_open_win(buf, false, float_config())
  dress(win, {})
  return win
end

M.positions = { 'right', 'bottom', 'tab', 'float' }

local function position(wanted)
  wanted = wanted or config.get('position')
  if wanted == 'auto' then
    return vim.o.columns >= 120 and 'right' or 'bottom'
  end
  return wanted
end

local function sizes_now()
  return { windows = api.nvim_tabpage_list_wins(0), command = vim.fn.winrestcmd() }
end

-- After `win` of ours was closed.
local function restore_sizes(win)
  local tab = api.nvim_get_current_tabpage()
  local before = restore[tab]
  if not before or before.win ~= win then
    return
  end
  restore[tab] = nil
  if vim.deep_equal(before.windows, api.nvim_tabpage_list_wins(tab)) then
    vim.cmd(before.command)
    vim.cmd(before.command) -- a window may have been in the way of another
  end
end

local function to_end(win)
  local buf = api.nvim_win_get_buf(win)
  api.nvim_win_set_cursor(win, { api.nvim_buf_line_count(buf), 0 })
end

-- The user may close our window in other ways than with :Pi close.
local function watch_closing(session, win)
  api.nvim_create_autocmd('WinClosed', {
    group = api.nvim_create_augroup('PiWindow' .. win, { clear = true }),
    pattern = tostring(win),
    once = true,
    callback = function()
      vim.schedule(function()
        require('pi.input').close(session)
        restore_sizes(win)
      end)
    end,
  })
end

--- Shows the conversation in this tab page; the focus stays, unless it is to be a tab page
--- of its own.
---@param wanted string|nil a position
---@return number win
function M.open(session, wanted)
  if vim.fn.getcmdwintype() ~= '' then
    error('not in the command-line window', 0)
  end
  local where = position(wanted)
  local opener = openers[where]
  if not opener then
    error(('there is no position "%s": right, bottom, tab or float'):format(where), 0)
  end
  local win = M.find(session)
  if win and not wanted then
    return win
  elseif win then
    M.close(session)
  end
  session:start()
  local tab, sizes = api.nvim_get_current_tabpage(), sizes_now()
  local before, previous = api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#'))
  win = opener(require('pi.render').buffer(session))
  to_end(win)
  watch_closing(session, win)
  if where ~= 'tab' then
    sizes.win = win
    restore[tab] = sizes
    M.focus_quietly(previous, before)
  end
  return win
end

--- Makes `win` the current window and `previous` the one before it, unseen by autocommands.
function M.focus_quietly(previous, win)
  if previous and previous ~= 0 and api.nvim_win_is_valid(previous) then
    vim.cmd(('noautocmd call win_gotoid(%d)'):format(previous))
  end
  vim.cmd(('noautocmd call win_gotoid(%d)'):format(win))
end

local function close(win)
  if
    #api.nvim_list_wins() == 1
    or #other_windows() == 0 and not is_float(win) and #api.nvim_list_tabpages() == 1
  then
    api.nvim_win_call(win, function()
      vim.cmd('silent! buffer #')
      if vim.bo.filetype == 'pi' then
        vim.cmd('enew')
      end
    end)
    return
  end
  M.close_window(win)
end

--- Puts the conversation with this id in the place of a buffer that is only named so. Where
--- another one is under way in the directory, that is shown instead.
function M.adopt(buf, id)
  local session = require('pi.session').ensure()
  if not session.connection and id:find('^[%w-]+$') then
    session:begin({ resume = id })
  end
  vim.schedule(function()
    local ours = require('pi.render').buffer(session)
    for _, win in ipairs(buf ~= ours and vim.fn.win_findbuf(buf) or {}) do
      api.nvim_win_set_buf(win, ours)
      dress(win, {})
    end
    if buf ~= ours and api.nvim_buf_is_valid(buf) then
      api.nvim_buf_delete(buf, { force = true })
    end
  end)
end

--- Hides the conversation in this tab page; the others get their sizes back.
function M.close(session)
  require('pi.input').close(session)
  local win = M.find(session)
  if win then
    pcall(api.nvim_del_augroup_by_name, 'PiWindow' .. win)
    close(win)
    restore_sizes(win)
  end
end

function M.toggle(session, wanted)
  if M.find(session) and not wanted then
    M.close(session)
  else
    M.open(session, wanted)
  end
end

-- The last window that was used for files, else any.
local function file_window()
  local function fits(win)
    if win == 0 or is_float(win) or vim.bo[api.nvim_win_get_buf(win)].buftype ~= '' then
      return false
    end
    local known, fixed = pcall(api.nvim_win_get_option, win, 'winfixbuf') -- since 0.10
    return not (known and fixed)
  end
  local last = vim.fn.win_getid(vim.fn.winnr('#'))
  if fits(last) then
    return last
  end
  for _, win in ipairs(other_windows()) do
    if fits(win) then
      return win
    end
  end
end

--- Goes to a place in a file, in the last window with a file.
function M.show_file(path, line, column)
  local win = file_window()
  if win then
    api.nvim_set_current_win(win)
  else
    vim.cmd('topleft new')
  end
  vim.cmd("normal! m'")
  if vim.fn.bufnr('%') ~= vim.fn.bufnr('^' .. path .. '$') or vim.fn.expand('%:p') ~= path then
    vim.cmd(
      (vim.bo.modified and not vim.o.hidden and 'split ' or 'edit ') .. vim.fn.fnameescape(path)
    )
  end
  if line then
    local last = api.nvim_buf_line_count(0)
    api.nvim_win_set_cursor(
      0,
      { math.min(math.max(line, 1), last), math.max((column or 1) - 1, 0) }
    )
    vim.cmd('normal! zvzz')
  end
end

--- A small window over the others that q and <Esc> close; it has the focus.
---@return number buf
function M.popup(lines)
  local width = 10
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local buf = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  vim.bo[buf].modifiable = false
  vim.bo[buf].bufhidden = 'wipe'
  local height = math.min(#lines, vim.o.lines - 6)
  width = math.min(width, vim.o.columns - 4)
  api.nvim_open_win(buf, true, {
    relative = 'editor',
    style = 'minimal',
    border = 'single',
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
  })
  for _, key in ipairs({ 'q', '<Esc>', '<CR>', 'g?' }) do
    vim.keymap.set('n', key, '<Cmd>close<CR>', { buffer = buf, nowait = true })
  end
  return buf
end

--- Whether the user is still where a command was given: a list that comes later must not
--- take the focus from somebody who went on.
---@return fun(): boolean
function M.watch_focus()
  local win = api.nvim_get_current_win()
  return function()
    local here = api.nvim_get_current_win() == win and api.nvim_get_mode().mode == 'n'
    if not here then
      require('pi.notify')('the list is there; give the command again to see it')
    end
    return here
  end
end

--- Lets the user choose a line with <CR>: on_choice(number). Nothing waits for it. Without
--- lines the user is told why.
function M.pick(nothing, lines, on_choice)
  if #lines == 0 then
    require('pi.notify')(nothing, vim.log.levels.WARN)
    return
  end
  local buf = M.popup(lines)
  api.nvim_win_set_option(0, 'cursorline', true)
  api.nvim_win_set_option(0, 'wrap', false) -- one line is one choice
  vim.keymap.set('n', '<CR>', function()
    local i = api.nvim_win_get_cursor(0)[1]
    vim.cmd('close')
    on_choice(i)
  end, { buffer = buf, nowait = true })
end

require('pi.bus').on('view_created', function(event)
  -- A window that comes to show the buffer in another way looks the same.
  api.nvim_create_autocmd('BufWinEnter', {
    buffer = event.view.buf,
    callback = function()
      dress(0, {})
    end,
  })
end)

return M
