-- Whatever is done in whatever order while the agent works, nothing fails: windows come and
-- go, buffers are wiped, conversations begin, end and go on.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, check = suite.tests, suite.check

local STEPS = 60

local steps = {
  'Pi open right',
  'Pi open bottom',
  'Pi open float',
  'Pi close',
  'Pi',
  'Pi go on',
  'Pi steer hey',
  'Pi queue later',
  'Pi abort',
  'Pi new',
  'Pi! fresh',
  'Pi restart',
  'Pi continue',
  'Pi stop',
  'Pi allow',
  'Pi deny',
  'Pi ask',
  'Pi add',
  'Pi drop',
  'stopinsert',
  'wincmd w',
  'vsplit',
  'only',
  'tabnew',
  'tabclose',
}

-- What a step may be answered with.
local answers = { 'nothing is asked', 'the agent is not running', 'there is no session in' }

local function is_answer(text)
  for _, answer in ipairs(answers) do
    if text:find(answer, 1, true) then
      return true
    end
  end
end

local function in_the_conversation()
  local window = agent.window()
  if window then
    vim.api.nvim_win_call(window, function()
      require('pi.keys').toggle()
      require('pi.keys').next_turn()
      require('pi.keys').previous_turn()
    end)
  end
end

local function step()
  local dice = math.random(#steps + 2)
  if dice <= #steps then
    pcall(vim.cmd, steps[dice]) -- Neovim refuses some, e.g. to close the last window
  elseif dice == #steps + 1 then
    vim.cmd('bwipeout! ' .. require('pi.render').buffer(agent.session()))
  else
    in_the_conversation()
  end
  vim.wait(math.random(40), function()
    return false
  end, 10)
end

local function play(permissions, seed)
  local turn = {
    chunkDelayMs = 1,
    blocks = {
      { text = ('word '):rep(60) },
      { thinking = ('hm '):rep(20) },
      agent.call('bash', { command = 'seq 50; sleep 0.05' }),
    },
    ['repeat'] = 300,
  }
  agent.record(turn)
  agent.options({ permissions = permissions })
  math.randomseed(seed)
  for _ = 1, STEPS do
    step()
  end
  vim.cmd('stopinsert')
  local function allow(text)
    check(is_answer(text), ('seed %d: %s'):format(seed, text))
  end
  for _, entry in ipairs(agent.told) do
    if (entry.level or 0) >= vim.log.levels.WARN then
      allow(entry.text)
    end
  end
  for _, entry in ipairs(agent.events) do
    if entry.event.type == 'notice' and entry.event.level == 'error' then
      allow(entry.event.message)
    end
  end
end

function tests.with_questions()
  play('ask', 3)
end

function tests.without_questions()
  play('yolo', 5)
end

agent.run()
