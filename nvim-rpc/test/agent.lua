-- For tests with an agent whose answers are recorded: see doc/replay.md.

local suite =
  dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h') .. '/suite.lua')
local M = { suite = suite, events = {} }

vim.cmd('filetype plugin on | syntax on')
require('pi.render')
require('pi.bus').on('*', function(event, session)
  table.insert(M.events, { event = event, session = session })
end)

--- The session of the current directory.
function M.session()
  return require('pi.session').ensure()
end

--- A block of a turn that calls a tool.
function M.call(name, arguments)
  return { call = { name = name, arguments = arguments } }
end

--- The model will answer with these turns, lists of blocks or whole turns.
function M.record(...)
  local turns = {}
  for _, turn in ipairs({ ... }) do
    table.insert(turns, turn.blocks and turn or { blocks = turn })
  end
  M.recorded = (M.recorded or 0) + 1
  local path = ('%s/turns-%d.json'):format(suite.dir, M.recorded)
  suite.write(path, vim.json.encode({ turns = turns }))
  vim.g.pi = {
    bin = vim.env.PI_NVIM,
    model = 'replay:' .. path,
    permissions = 'yolo',
    position = 'bottom',
    bash_save = 'never',
    agent_dir = suite.dir .. '/agent',
  }
  M.events = {}
end

--- Sets options over those of record().
function M.options(options)
  vim.g.pi = vim.tbl_extend('force', vim.g.pi, options)
end

--- The first event of a type, or nil.
function M.seen(kind, field, value)
  for _, entry in ipairs(M.events) do
    if entry.event.type == kind and (not field or entry.event[field] == value) then
      return entry.event
    end
  end
end

--- Waits for it.
function M.await(kind, field, value)
  suite.wait(function()
    return M.seen(kind, field, value)
  end, kind .. (field and (' with %s %s'):format(field, tostring(value)) or ''))
  return M.seen(kind, field, value)
end

--- Asks and waits for the end of the run.
function M.ask(text)
  M.events = {}
  vim.cmd('Pi ' .. text)
  M.await('agent_end')
end

--- The lines of the conversation, as one text.
function M.shown(session)
  local buf = require('pi.render').buffer(session or M.session())
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), '\n')
end

function M.shows(text)
  if not M.shown():find(text, 1, true) then
    error(('"%s" is not shown in:\n%s'):format(text, M.shown()), 2)
  end
end

function M.shows_not(text)
  if M.shown():find(text, 1, true) then
    error(('"%s" is shown in:\n%s'):format(text, M.shown()), 2)
  end
end

--- Waits until the conversation shows a text.
function M.await_text(text)
  suite.wait(function()
    return M.shown():find(text, 1, true)
  end, ('"%s" in:\n%s'):format(text, M.shown()))
end

--- What the user was told, of pi.notify.
M.told = {}
vim.notify = function(text, level)
  table.insert(M.told, { text = text, level = level })
end

function M.was_told(words)
  suite.wait(function()
    for _, entry in ipairs(M.told) do
      if entry.text:find(words, 1, true) then
        return true
      end
    end
  end, ('the words "%s"; said was %s'):format(words, vim.inspect(M.told)))
end

--- Presses keys in this editor, with their mappings, and waits until they are done.
function M.press(keys)
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes(keys, true, false, true), 'mx', false)
end

--- The window on the conversation.
function M.window()
  return require('pi.window').find(M.session())
end

--- Moves the cursor of the conversation's window to a line with a text, and goes there.
function M.go_to(text)
  vim.api.nvim_set_current_win(M.window())
  for i, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
    local column = line:find(text, 1, true)
    if column then
      vim.api.nvim_win_set_cursor(0, { i, column - 1 })
      return i
    end
  end
  error(('no line has "%s" in:\n%s'):format(text, M.shown()), 2)
end

--- Runs the tests; each has a session of its own.
function M.run()
  for name, test in pairs(suite.tests) do
    suite.tests[name] = function()
      M.events, M.told = {}, {}
      vim.cmd('silent! tabonly! | silent! only!')
      vim.fn.mkdir(suite.dir .. '/' .. name, 'p')
      vim.cmd('cd ' .. vim.fn.fnameescape(suite.dir .. '/' .. name))
      test()
      suite.equal(vim.api.nvim_get_mode().blocking, false)
    end
  end
  suite.run()
end

return M
