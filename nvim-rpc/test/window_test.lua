-- Where the conversation is shown, and that nothing else moves.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check, equal = suite.tests, suite.check, suite.equal
local api = vim.api

-- Where all windows are, and how large.
local function layout()
  local places = {}
  for _, win in ipairs(api.nvim_tabpage_list_wins(0)) do
    local place = { api.nvim_win_get_width(win), api.nvim_win_get_height(win) }
    places[win] = vim.list_extend(place, api.nvim_win_get_position(win))
  end
  return places
end

local function uneven_windows()
  vim.o.columns, vim.o.lines = 140, 40
  vim.cmd('vsplit | split | resize 7 | vertical resize 33')
end

for _, position in ipairs({ 'right', 'bottom', 'float' }) do
  tests['closing_gives_back_the_layout_' .. position] = function()
    agent.record({ { text = 'One.' } })
    uneven_windows()
    local before, win, previous = layout(), api.nvim_get_current_win(), vim.fn.winnr('#')
    vim.cmd('Pi open ' .. position)
    check(agent.window(), 'not shown')
    equal(api.nvim_get_current_win(), win)
    vim.cmd('Pi close')
    check(not agent.window(), 'still shown')
    equal(layout(), before)
    equal({ api.nvim_get_current_win(), vim.fn.winnr('#') }, { win, previous })
  end
end

function tests.closing_in_another_way_gives_back_the_layout_too()
  agent.record({ { text = 'One.' } })
  uneven_windows()
  local before = layout()
  vim.cmd('Pi open right')
  vim.cmd('Pi ask')
  vim.cmd('stopinsert | wincmd p')
  api.nvim_win_close(agent.window(), true)
  suite.wait(function()
    return vim.deep_equal(layout(), before)
  end, 'the layout')
end

function tests.a_tab_page_of_its_own()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi open tab')
  equal(#api.nvim_list_tabpages(), 2)
  vim.cmd('Pi close')
  equal(#api.nvim_list_tabpages(), 1)
end

function tests.asking_moves_no_focus()
  agent.record({ { text = 'One.' } })
  vim.cmd('edit a.txt')
  local win = api.nvim_get_current_win()
  agent.ask('go')
  equal(api.nvim_get_current_win(), win)
  check(agent.window(), 'not shown')
end

function tests.opening_fires_no_event_of_other_windows()
  agent.record({ { text = 'One.' } })
  vim.g.left = 0
  vim.cmd('autocmd WinLeave,WinEnter,BufLeave * let g:left += 1')
  vim.cmd('Pi open right')
  vim.cmd('autocmd! WinLeave,WinEnter,BufLeave *')
  equal(vim.g.left, 0)
end

function tests.the_command_toggles()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi')
  check(agent.window(), 'not shown')
  vim.cmd('Pi')
  check(not agent.window(), 'still shown')
end

function tests.what_the_user_shows_in_our_window_keeps_its_look()
  agent.record({ { text = 'One.' } })
  suite.write('a.txt', 'one\n')
  vim.o.number = true
  vim.cmd('Pi open right')
  api.nvim_set_current_win(agent.window())
  equal(vim.wo.number, false)
  vim.cmd('edit a.txt')
  equal({ vim.wo.number, vim.wo.signcolumn }, { true, 'auto' })
  equal({ vim.wo.statusline, vim.wo.winhighlight }, { '', '' })
  check(not agent.window(), 'the window is still ours')
  vim.o.number = false
end

function tests.the_last_window_is_not_closed()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi open bottom')
  api.nvim_set_current_win(agent.window())
  vim.cmd('only')
  vim.cmd('Pi close')
  check(vim.bo.filetype ~= 'pi', 'still shown')
end

function tests.an_unknown_position_is_told()
  agent.record({ { text = 'One.' } })
  vim.cmd('Pi open north')
  agent.was_told('there is no position "north"')
end

-- An agent's turn leaves everything of the user's alone while its window is closed.
function tests.a_turn_without_a_window_touches_nothing()
  suite.write('a.txt', 'one\ntwo\nthree\n')
  suite.write('b.txt', 'one\n')
  agent.record(
    { agent.call('read', { path = 'a.txt' }), agent.call('bash', { command = 'seq 100' }) },
    { agent.call('write', { path = 'b.txt', content = 'two\n' }) },
    { { text = 'Done.' } }
  )
  agent.options({ open_on_ask = false })
  vim.cmd('edit a.txt')
  vim.cmd('normal! 2Gyyma')
  vim.fn.setreg('/', 'three')
  uneven_windows()
  local function state()
    return {
      layout = layout(),
      win = api.nvim_get_current_win(),
      view = vim.fn.winsaveview(),
      registers = vim.tbl_map(vim.fn.getreg, { '"', '0', '/', ':' }),
      jumps = vim.fn.getjumplist(),
      mark = vim.fn.getpos("'a"),
      cwd = vim.fn.getcwd(),
      buffers = vim.tbl_filter(function(buf)
        return vim.bo[buf].buflisted
      end, api.nvim_list_bufs()),
    }
  end
  local before = state()
  agent.ask('go')
  equal(state(), before)
end

agent.run()
