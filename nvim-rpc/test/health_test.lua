-- What :checkhealth pi says.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local tests, check = suite.tests, suite.check

-- The report under these options.
local function report(options)
  vim.g.pi = vim.tbl_extend('force', { bin = vim.env.PI_NVIM }, options or {})
  vim.cmd('silent checkhealth pi')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
  vim.cmd('bwipeout!')
  for _, word in ipairs({ 'OK', 'WARNING', 'ERROR' }) do
    text = text:gsub(word .. ': ', word .. ' ') -- as Neovim 0.7 writes them
  end
  return text
end

local function says(text, ...)
  for _, words in ipairs({ ... }) do
    check(text:find(words, 1, true), ('"%s" is not in:\n%s'):format(words, text))
  end
end

local function never_says(text, words)
  check(not text:find(words, 1, true), ('"%s" is in:\n%s'):format(words, text))
end

function tests.all_is_well()
  vim.env.ANTHROPIC_API_KEY = 'key-that-nobody-may-see'
  local text = report()
  vim.env.ANTHROPIC_API_KEY = nil
  says(text, 'OK Neovim', vim.env.PI_NVIM, 'commands run: bash')
  says(text, ('protocol %d as in the plugin'):format(require('pi.rpc').protocol))
  says(text, 'conversations are kept in ~/.pi/agent/sessions', 'can be asked: anthropic')
  never_says(text, 'ERROR')
  never_says(text, 'WARN')
  never_says(text, 'nobody-may-see')
end

function tests.no_model()
  says(report(), 'ERROR no model can be asked', 'set ANTHROPIC_API_KEY, OPENAI_API_KEY or')
  never_says(report({ model = 'replay:x' }), 'ERROR')
end

function tests.no_program()
  local text = report({ bin = suite.dir .. '/nothing' })
  says(text, 'ERROR vim.g.pi.bin is', 'run: make -C')
  never_says(text, 'version')
end

function tests.another_program()
  says(report({ bin = '/bin/true' }), 'ERROR no conversation with it', 'run: make -C')
end

function tests.options()
  says(report({ nonsense = 1 }), 'WARNING vim.g.pi has an unknown option "nonsense"')
  says(report({ no_session = true }), 'conversations are not kept')
  vim.o.undolevels, vim.o.autoread, vim.o.eventignore = -1, false, 'FileChangedShell'
  local text = report()
  vim.o.undolevels, vim.o.autoread, vim.o.eventignore = 1000, true, ''
  says(text, "WARNING 'undolevels' is negative", "'autoread' is off", "WARNING 'eventignore' is")
end

function tests.folder_that_cannot_be_written()
  local text = report({ session_dir = '/proc/nothing' })
  says(text, 'ERROR conversations cannot be kept in /proc/nothing', 'set vim.g.pi.session_dir')
end

function tests.leaves_nothing()
  report()
  suite.wait(function()
    return #vim.tbl_filter(function(channel)
      return channel.mode == 'rpc' and channel.stream == 'job'
    end, vim.api.nvim_list_chans()) == 0
  end, 'the end of pi-nvim')
  check(vim.fn.isdirectory(vim.env.HOME .. '/.pi/agent/sessions') == 0, 'a session was written')
end

suite.run()
