-- The agent and the user work on the same file at the same time. A plain list of lines is
-- told of every step as well, and both must be equal after each.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent, editor = dofile(here .. '/agent.lua'), dofile(here .. '/child.lua')
local suite = agent.suite
local tests, equal, check = suite.tests, suite.equal, suite.check

local STEPS = 200

-- What the text should be, and what one u after the other should give.
local Model = {}
Model.__index = Model

function Model:push()
  table.insert(self.before, vim.deepcopy(self.lines))
end

-- What cannot be counted in steps of undo.
function Model:forget()
  self.before = {}
end

local random

local function word()
  return ('w%d'):format(random(1000000))
end

local function text_of(lines)
  return #lines == 0 and '' or table.concat(lines, '\n') .. '\n'
end

-- The agent replaces a line, by the offsets of a snapshot.
local function agent_edits(child, model)
  local n = random(#model.lines)
  local offset = 0
  for i = 1, n - 1 do
    offset = offset + #model.lines[i] + 1
  end
  local new = random(3) == 1 and { word(), word() } or { word() }
  local change = { offset, #model.lines[n], table.concat(new, '\n') }
  local answer = child:apply(model.path, change)
  equal(answer.status, 'ok')
  equal(answer.saved, not model.changed)
  table.remove(model.lines, n)
  for i = #new, 1, -1 do
    table.insert(model.lines, n, new[i])
  end
end

local steps = {}

function steps.agent(child, model)
  model:push()
  agent_edits(child, model)
end

function steps.append(child, model)
  local n, new = random(#model.lines), word()
  model:push()
  child:type_to(n .. 'GA' .. new .. '<Esc>', 'n')
  model.lines[n], model.changed = model.lines[n] .. new, true
end

function steps.open(child, model)
  local n, new = random(#model.lines), word()
  model:push()
  child:type_to(n .. 'Go' .. new .. '<Esc>', 'n')
  table.insert(model.lines, n + 1, new)
  model.changed = true
end

function steps.delete(child, model)
  if #model.lines > 5 then
    local n = random(#model.lines)
    model:push()
    child:type(n .. 'Gdd')
    table.remove(model.lines, n)
    model.changed = true
  end
end

-- The agent changes something while the user is in the middle of a line.
function steps.during_insert(child, model)
  local first, second = word(), word()
  child:type_to('GA' .. first, 'i')
  local n = #model.lines
  model.lines[n], model.changed = model.lines[n] .. first, true
  local last = table.remove(model.lines)
  agent_edits(child, model)
  table.insert(model.lines, last)
  child:type_to(second .. '<Esc>', 'n')
  model.lines[#model.lines] = last .. second
  model:forget()
end

function steps.write(child, model)
  child:command('silent write')
  model.changed = false
  equal(suite.read(model.path), text_of(model.lines))
end

function steps.edit_again(child, model)
  if not model.changed then
    child:command('silent edit')
    model:forget()
  end
end

function steps.undo(child, model)
  local before = table.remove(model.before)
  if before then
    child:type('u')
    model.lines = before
    model.changed = child:eval('&modified') == 1
  end
end

function steps.split(child)
  child:command(random(2) == 1 and 'split' or 'vsplit')
  if child:eval('winnr("$")') > 4 then
    child:command('only')
  end
end

-- A command of the agent changes the file.
function steps.disk(child, model)
  if not model.changed then
    model:push()
    table.insert(model.lines, random(#model.lines), word())
    suite.write(model.path, text_of(model.lines))
    child:lua(
      [[
        local buf = require('pi.buffer').find(...)
        require('pi.disk').sync_one(buf, function(...)
          require('pi.review').changed(...)
        end)
      ]],
      model.path
    )
  end
end

local function compare(child, model, step)
  equal({ step, child:lines() }, { step, model.lines })
  equal(child:mode().blocking, false)
  if not model.changed then
    equal(suite.read(model.path), text_of(model.lines))
  end
end

function tests.nothing_is_lost_whoever_types()
  local seed = tonumber(vim.env.PI_TEST_SEED) or 1
  math.randomseed(seed)
  random = math.random
  local model = setmetatable({ path = vim.fn.getcwd() .. '/f.txt', before = {}, lines = {} }, Model)
  for i = 1, 20 do
    model.lines[i] = 'line ' .. i
  end
  suite.write(model.path, text_of(model.lines))
  local child = editor.start()
  child:command('edit ' .. model.path)
  local names = vim.tbl_keys(steps)
  table.sort(names)
  local done = {}
  local ok, err = pcall(function()
    for _ = 1, STEPS do
      local name = random(3) == 1 and 'agent' or names[random(#names)]
      table.insert(done, name)
      steps[name](child, model)
      compare(child, model, name)
    end
  end)
  local problems = child:eval("execute('messages')")
  child:stop()
  if not ok then
    local last = vim.list_slice(done, math.max(#done - 8, 1))
    error(('seed %d, step %d of %s: %s'):format(seed, #done, table.concat(last, ' '), err), 0)
  end
  check(not problems:find('E%d+:'), problems)
end

-- All that is the user's own, to be the same before and after.
local STATE = [[
  local state = {
    layout = vim.fn.winlayout(),
    sizes = vim.fn.winrestcmd(),
    window = { vim.fn.winnr(), vim.fn.winnr('#'), vim.fn.tabpagenr('$') },
    buffer = { vim.fn.bufnr('%'), vim.fn.bufnr('#') },
    cwd = vim.fn.getcwd(),
    search = vim.fn.getreg('/'),
    registers = {},
    marks = {},
    jumps = {},
    views = {},
  }
  for name in ('"0123456789abcxyz-'):gmatch('.') do
    state.registers[name] = vim.fn.getreg(name)
  end
  for name in ('abcABC'):gmatch('.') do
    state.marks[name] = vim.fn.getpos("'" .. name)
  end
  for i, jump in ipairs(vim.fn.getjumplist()[1]) do
    state.jumps[i] = { jump.bufnr, jump.lnum, jump.col }
  end
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    local view = vim.api.nvim_win_call(win, vim.fn.winsaveview)
    state.views[tostring(win)] = { view.topline, view.lnum, view.col, view.leftcol }
  end
  return state
]]

local function in_sight(child)
  child:type(':tabnew | tabprevious<CR>')
  child:type('/line 3$<CR>')
  child:type('yy"ayiwma')
  child:type(':vsplit other.txt<CR>')
  child:type('5GmBdd')
  child:type(':silent write<CR>:split<CR>:15wincmd _<CR>')
  child:type('10Gzt')
end

function tests.a_turn_leaves_the_user_where_he_is()
  local text = {}
  for i = 1, 60 do
    text[i] = 'line ' .. i
  end
  for _, name in ipairs({ 'f.txt', 'other.txt' }) do
    suite.write(name, table.concat(text, '\n') .. '\n')
  end
  local function replace(path, old, new)
    local edits = { { oldText = old, newText = new } }
    return agent.call('edit', { path = path, edits = edits })
  end
  agent.record(
    { agent.call('read', { path = 'f.txt' }), agent.call('grep', { pattern = 'line' }) },
    { replace('f.txt', 'line 40\n', 'LINE 40\n'), replace('other.txt', 'line 55\n', 'LINE 55\n') },
    { agent.call('bash', { command = 'sed -i "s/line 58/LINE 58/" other.txt; cd /' }) },
    { agent.call('write', { path = 'new/file.txt', content = 'new\n' }) },
    { { text = 'Done.' } }
  )
  agent.options({ open_on_ask = false })
  local child = editor.start({ ui = true })
  child:command('cd ' .. vim.fn.getcwd() .. ' | edit f.txt')
  in_sight(child)
  child:lua("require('pi.bus').on('agent_end', function() vim.g.over = true end)")
  child:lua("vim.g.over = false; require('pi.session').ensure()")
  local before = child:lua(STATE)
  child:command('Pi x')
  suite.wait(function()
    local mode = child:mode()
    check(not mode.blocking and not mode.mode:find('^r'), vim.inspect(mode))
    return child:eval('g:over')
  end, 'the end of the run')
  local after = child:lua(STATE)
  for name, value in pairs(before) do
    equal({ name, after[name] }, { name, value })
  end
  equal(suite.read('other.txt'):find('LINE 58', 1, true) ~= nil, true)
  equal(
    child:request('nvim_buf_get_lines', child:eval('bufnr("f.txt")'), 39, 40, true),
    { 'LINE 40' }
  )
  child:stop()
end

-- Neovim looks at the disk when the focus comes back, while a command still changes files.
function tests.focus_during_a_command_asks_nothing()
  suite.write('mine.txt', 'one\n')
  suite.write('clean.txt', 'one\n')
  agent.record({
    agent.call('bash', {
      command = 'echo 2 | tee -a mine.txt >>clean.txt; touch go;'
        .. ' until [ -e end ]; do sleep 0.02; done',
    }),
  }, { { text = 'Done.' } })
  agent.options({ open_on_ask = false })
  local child = editor.start({ ui = true })
  child:command('cd ' .. vim.fn.getcwd() .. ' | set noautoread | edit clean.txt | edit mine.txt')
  child:type_to('Ax<Esc>', 'n')
  child:lua(
    "require('pi.bus').on('agent_end', function() vim.g.over = true end); vim.g.over = false"
  )
  child:command('Pi x')
  suite.wait(function()
    return vim.fn.filereadable('go') == 1
  end, 'the command')
  child:request('nvim_input', '<F9>')
  vim.rpcnotify(child.id, 'nvim_command', 'checktime')
  equal(child:mode().blocking, false)
  equal(child:lines(), { 'onex' })
  suite.write('end', '')
  suite.wait(function()
    return child:eval('g:over')
  end, 'the end of the run')
  equal(child:mode().blocking, false)
  equal(child:eval('b:pi_conflict'), 'conflict')
  equal(
    child:request('nvim_buf_get_lines', child:eval('bufnr("clean.txt")'), 0, -1, true),
    { 'one', '2' }
  )
  child:stop()
end

agent.run()
