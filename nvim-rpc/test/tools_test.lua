-- Tools that run in Neovim, called by the agent.

local here = vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p:h')
local agent = dofile(here .. '/agent.lua')
local suite = agent.suite
local tests, equal, check = suite.tests, suite.equal, suite.check
local tools = require('pi.tools')

-- What a call of the tool gives the model: its text, and whether it failed.
local function result_of(name, arguments)
  agent.record({ agent.call(name, arguments) }, { { text = 'Done.' } })
  require('pi.session').ensure():begin()
  agent.ask('x')
  local event = agent.seen('tool_execution_end', 'toolName', name)
  return event.result.content[1].text, event.isError
end

local function add(name, run, more)
  local tool = { name = name, description = 'a test', reads = true, run = run }
  require('pi').tool(vim.tbl_extend('force', tool, more or {}))
end

function tests.returns()
  local got
  add('greet', function(args, ctx)
    got = { args, ctx.cwd }
    return 'hello ' .. args.who
  end, { parameters = { properties = { who = { type = 'string' } }, required = { 'who' } } })
  equal({ result_of('greet', { who = 'Ada' }) }, { 'hello Ada', false })
  equal(got, { { who = 'Ada' }, vim.fn.getcwd() })
  add('greet', function()
    return { list = { 1, 2 } }
  end)
  equal(vim.json.decode((result_of('greet', vim.empty_dict()))), { list = { 1, 2 } })
end

function tests.answers_later()
  add('slow', function(_, _, done)
    local timer = vim.loop.new_timer()
    timer:start(20, 0, function() -- where most of Neovim cannot be called
      timer:close()
      done('at last')
      done('twice')
    end)
  end)
  equal({ result_of('slow', vim.empty_dict()) }, { 'at last', false })
end

function tests.fails()
  add('bad', function()
    error('this is wrong')
  end)
  local text, failed = result_of('bad', vim.empty_dict())
  check(failed and text:find('this is wrong', 1, true), text)
  add('bad', function(_, _, done)
    done(nil, 'no such thing')
  end)
  equal({ result_of('bad', vim.empty_dict()) }, { 'no such thing', true })
  add('bad', function() end, { timeout_ms = 30 })
  equal({ result_of('bad', vim.empty_dict()) }, { 'bad did not answer within 0.03 s', true })
end

function tests.long_results()
  add('long', function()
    return ('line\n'):rep(20000)
  end)
  local text = result_of('long', vim.empty_dict())
  check(
    #text < 52 * 1024 and text:find('[Cut: 51199 of 100000 bytes are shown.]', 1, true),
    text:sub(-99)
  )
end

-- After an abort nobody waits, and a late answer does no harm.
function tests.withdrawn()
  local context, finish
  add('endless', function(_, ctx, done)
    context, finish = ctx, done
  end)
  agent.record({ agent.call('endless', vim.empty_dict()) }, { { text = 'Done.' } })
  vim.cmd('Pi x')
  suite.wait(function()
    return finish
  end, 'the call')
  vim.cmd('Pi abort')
  agent.await('agent_end')
  suite.wait(function()
    return context.cancelled
  end, 'the end of the call')
  finish('late')
  equal(#agent.told, 0)
end

function tests.wrong_definitions()
  local ok, err = pcall(require('pi').tool, { name = 'x', description = 'y' })
  check(not ok and err:find('a field run', 1, true), err)
end

-- Off until the user asks for them.
function tests.shipped()
  local text, failed = result_of('diagnostics', vim.empty_dict())
  check(failed, text)
end

local function serve(name, arguments)
  local answer
  local request = { tool = name, path = vim.fn.getcwd(), arguments = vim.json.encode(arguments) }
  local now = tools.serve(request, function(late)
    answer = late
  end)
  answer = now or answer
  suite.wait(function()
    return answer
  end, name)
  return answer.text or answer.message, answer.status
end

-- A language server, as far as it matters here.
local function with_server(answers, test)
  local client = {
    offset_encoding = 'utf-16',
    supports_method = function(method)
      return answers[method] ~= nil
    end,
    request = function(method, params, handler)
      handler(nil, answers[method](params))
    end,
  }
  local name = vim.lsp.get_clients and 'get_clients' or 'buf_get_clients'
  local before = vim.lsp[name]
  vim.lsp[name] = function()
    return { client }
  end
  local ok, err = pcall(test)
  vim.lsp[name] = before
  if not ok then
    error(err, 0)
  end
end

local function open_file()
  agent.record({ { text = 'Done.' } })
  agent.options({ tools = vim.tbl_keys(tools.shipped) })
  suite.write('a.txt', 'local x = 1\nlocal é, foo = x, 2\nprint(foo)\n')
  vim.cmd('edit a.txt')
  agent.ask('x')
end

function tests.language_server()
  open_file()
  local uri = vim.uri_from_bufnr(0)
  local asked
  local function at(line)
    return { start = { line = line, character = 6 }, ['end'] = { line = line, character = 9 } }
  end
  with_server({
    ['textDocument/definition'] = function(params)
      asked = params.position
      return { uri = uri, range = at(1) }
    end,
    ['textDocument/references'] = function()
      return { { uri = uri, range = at(1) }, { targetUri = uri, targetSelectionRange = at(2) } }
    end,
    ['textDocument/rename'] = function(params)
      equal(params.newName, 'bar')
      return { changes = { [uri] = { { range = at(2), newText = 'bar' } } } }
    end,
  }, function()
    local place = { path = 'a.txt', line = 2, symbol = 'foo', newName = 'bar' }
    equal(serve('lsp_definition', place), 'a.txt:2: local é, foo = x, 2')
    equal(asked, { line = 1, character = 9 })
    equal(serve('lsp_references', place), 'a.txt:2: local é, foo = x, 2\na.txt:3: print(foo)')
    equal(
      serve('lsp_rename_preview', place),
      'Would change 1 places; nothing was changed yet:\na.txt:3: print(foo)'
    )
    place.symbol = 'nonsense'
    check(serve('lsp_definition', place):find('"nonsense" is not in line 2', 1, true), 'symbol')
    place.line = 9
    check(serve('lsp_definition', place):find('the lines 1 to 3', 1, true), 'line')
  end)
  local words = serve('lsp_definition', { path = 'a.txt', line = 2, symbol = 'foo' })
  equal(words, 'no language server is attached to a.txt')
  words = serve('lsp_definition', { path = 'b.txt', line = 2, symbol = 'foo' })
  check(words:find('b.txt is not open', 1, true), words)
end

function tests.diagnostics()
  open_file()
  local words = serve('diagnostics', { path = 'a.txt' })
  equal(words, 'No diagnostics; no language server is attached to a.txt.')
  local space = vim.api.nvim_create_namespace('test')
  vim.diagnostic.set(space, 0, {
    { lnum = 2, col = 0, message = 'not\nused', severity = 2, source = 'lint' },
  })
  equal(serve('diagnostics', { path = 'a.txt' }), 'a.txt:3:1: warning: not used [lint]')
  equal(serve('diagnostics', vim.empty_dict()), 'a.txt:3:1: warning: not used [lint]')
end

agent.run()
