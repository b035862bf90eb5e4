-- What :checkhealth pi looks at. It starts an agent of its own, which asks no model.

local config = require('pi.config')
local M = {}

local WAIT_MS = 5000

-- Neovim 0.7 has the same functions under other names.
local function reporter()
  local health = vim.health or require('health')
  local report = {}
  for _, name in ipairs({ 'start', 'ok', 'info', 'warn', 'error' }) do
    report[name] = health[name] or health['report_' .. name]
  end
  return report
end

local report

local function check_neovim()
  report.start('Neovim')
  local v = vim.version()
  local version = ('%d.%d.%d'):format(v.major, v.minor, v.patch)
  if vim.fn.has('nvim-0.7') == 0 then
    report.error('Neovim ' .. version .. ' is too old: 0.7 or newer is needed')
  else
    report.ok('Neovim ' .. version)
  end
  local problems = config.problems()
  for _, problem in ipairs(problems) do
    report.warn(problem, { 'see :help pi-options' })
  end
  if #problems == 0 then
    report.ok(vim.g.pi and 'the options in vim.g.pi are understood' or 'vim.g.pi is not set')
  end
end

-- Options of the user that decide what happens to buffers.
local function check_options()
  if vim.go.undolevels < 0 then
    report.warn("'undolevels' is negative: what the agent changed cannot be undone")
  else
    report.ok("'undolevels': each change of the agent is one step of undo")
  end
  local ignored = vim.go.eventignore
  if ignored:find('all') or ignored:find('FileChangedShell') then
    report.warn(
      ('\'eventignore\' is "%s"'):format(ignored),
      { 'without FileChangedShell Neovim asks questions when a file changed on disk' }
    )
  end
  local reads = vim.go.autoread and 'are read again' or "are read again, though 'autoread' is off"
  report.ok('clean buffers ' .. reads .. ' when their files changed on disk')
  report.ok('files that are not open are changed on disk: swap files ask nothing')
end

local function first_line(text)
  return (text or ''):match('^%s*([^\n]*)')
end

-- An agent for the time of the check. Its fields: answer (of hello) or err, events by type.
local function start_agent()
  local agent = { events = {} }
  local ok, err = pcall(function()
    agent.connection = require('pi.rpc').connect({
      event = function(event)
        agent.events[event.type] = event
      end,
      error = function(text)
        agent.err = agent.err or text
      end,
      host = function()
        return { status = 'not_open' }
      end,
      ended = function(code)
        agent.err = agent.err or ('it ended with code %d'):format(code)
      end,
    }, { address = config.get('address'), cwd = vim.fn.getcwd() })
    agent.connection:call('hello', {
      protocol = require('pi.rpc').protocol,
      cwd = vim.fn.getcwd(),
      agent_dir = config.get('agent_dir'),
      session_dir = config.get('session_dir'),
      no_context_files = true,
      permissions = 'yolo',
    }, function(problem, answer)
      agent.err, agent.answer = agent.err or problem, answer
    end)
  end)
  agent.err = agent.err or (not ok and tostring(err) or nil)
  vim.wait(WAIT_MS, function()
    return agent.err or agent.answer
  end, 10)
  if not agent.answer then
    agent.err = agent.err or ('it did not answer within %d s'):format(WAIT_MS / 1000)
  end
  return agent
end

-- Calls a method and waits for the event that it ends with, or nil.
local function ask(agent, method, params, event)
  agent.events[event] = nil
  agent.connection:call(method, params, function(err)
    agent.err = err
  end)
  vim.wait(WAIT_MS, function()
    return agent.events[event] or agent.err
  end, 10)
  return agent.events[event]
end

local function check_program()
  report.start('pi-nvim')
  local binary = require('pi.binary')
  local address = config.get('address')
  local path, problem = binary.find()
  if not path and not address then
    report.error(problem, { 'run: ' .. binary.remedy() })
    return
  end
  report.ok(address and ('it listens at ' .. address) or path)
  local agent = start_agent()
  if agent.err then
    local advice = address and 'is it running? It was started as: pi-nvim --listen ' .. address
      or 'run: ' .. binary.remedy()
    report.error('no conversation with it: ' .. agent.err, { advice })
    if agent.connection then
      agent.connection:close()
    end
    return
  end
  local protocol = require('pi.rpc').protocol
  report.ok(('version %s, protocol %d as in the plugin'):format(agent.answer.version, protocol))
  return agent
end

-- A command that really runs, with the shell and the guard that the agent would use.
local function check_commands(agent)
  local event = ask(agent, 'call_tool', {
    id = 'health',
    name = 'bash',
    arguments = vim.json.encode({ command = 'echo "$BASH_VERSION"; git --version 2>&1' }),
  }, 'tool_execution_end')
  local text = event and event.result.content[1].text or agent.err or 'no answer'
  if not event or event.isError and not text:find('^%d') then
    report.error(
      'commands do not run: ' .. first_line(text),
      { 'run: ' .. require('pi.binary').remedy() }
    )
    return
  end
  local bash, git = text:match('^([^\n]*)\n?([^\n]*)')
  report.ok('commands run: bash ' .. bash .. ', under pi-guard')
  if git:find('^git version') then
    report.ok(git)
  else
    report.warn('git was not found: @diff is empty, and the agent cannot use it', { 'install git' })
  end
end

local function existing(folder)
  while vim.fn.isdirectory(folder) == 0 and folder ~= '/' and folder ~= '.' do
    folder = vim.fn.fnamemodify(folder, ':h')
  end
  return folder
end

local function check_sessions(file)
  if config.get('no_session') then
    report.info('conversations are not kept (no_session)')
    return
  end
  local folder = vim.fn.fnamemodify(file, ':h')
  local there = existing(folder)
  local probe, err = vim.loop.fs_mkdtemp(there .. '/.pi-health-XXXXXX')
  if probe then
    vim.loop.fs_rmdir(probe)
    report.ok('conversations are kept in ' .. vim.fn.fnamemodify(folder, ':~'))
  else
    report.error(
      ('conversations cannot be kept in %s: %s'):format(folder, err),
      { 'run: chmod u+rwx ' .. vim.fn.shellescape(there) .. ', or set vim.g.pi.session_dir' }
    )
  end
end

-- Names only: no key is ever shown.
local function check_models(agent)
  report.start('Models')
  local list = ask(agent, 'list_models', {}, 'model_list')
  if not list then
    report.warn('the models could not be listed: ' .. (agent.err or 'no answer'))
    return
  end
  local ready, missing = {}, {}
  for _, provider in ipairs(list.providers) do
    local words = provider.name
    if provider.available then
      table.insert(ready, words .. (provider['local'] and ' (this machine)' or ''))
    elseif provider.keyVariable then
      table.insert(missing, provider.keyVariable)
    end
  end
  if #ready > 0 then
    report.ok('can be asked: ' .. table.concat(ready, ', '))
  elseif tostring(config.get('model')):find('^replay:') then
    report.info('no key and no server, and none is needed: the model is recorded turns')
  else
    report.error('no model can be asked', {
      ('set %s or another variable of :help pi-models before Neovim starts'):format(
        table.concat(missing, ', ', 1, math.min(2, #missing))
      ),
      ('or write a key into %s/auth.json, or start a server on this machine'):format(
        config.get('agent_dir') or vim.env.PI_CODING_AGENT_DIR or '~/.pi/agent'
      ),
    })
  end
end

--- Called by :checkhealth pi.
function M.check()
  report = reporter()
  check_neovim()
  check_options()
  local agent = check_program()
  if agent then
    check_commands(agent)
    check_sessions(agent.answer.file)
    check_models(agent)
    agent.connection:close()
  end
end

return M
