-- The help names all that there is, and its tags are in order.

local suite = dofile(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':h') .. '/suite.lua')
local tests, check, equal = suite.tests, suite.check, suite.equal

local text = suite.read(suite.plugin .. '/doc/pi.txt')

-- The tags that Neovim finds, as a set.
local function tags()
  local doc = suite.dir .. '/doc'
  suite.write(doc .. '/pi.txt', text)
  vim.cmd('helptags ' .. doc)
  local found = {}
  for tag in suite.read(doc .. '/tags'):gmatch('([^\n\t]+)\t[^\n]+\n') do
    found[tag] = true
  end
  return found
end

local function missing(names)
  local found, absent = tags(), {}
  for _, name in ipairs(names) do
    if not found[name] then
      table.insert(absent, name)
    end
  end
  table.sort(absent)
  return absent
end

local function prefixed(prefix, set)
  return vim.tbl_map(function(name)
    return prefix .. name
  end, vim.tbl_keys(set))
end

function tests.subcommands()
  equal(missing(prefixed(':Pi-', require('pi.command').all())), {})
end

function tests.options()
  equal(missing(prefixed('pi-option-', require('pi.config').options)), {})
end

function tests.functions()
  local names = {}
  for name, value in pairs(require('pi')) do
    if type(value) == 'function' then
      table.insert(names, 'pi.' .. name .. '()')
    end
  end
  equal(missing(names), {})
end

-- What the sources fire and map is found by looking at them.
local function named(pattern)
  local names = {}
  for _, path in ipairs(vim.fn.glob(suite.plugin .. '/**/*.lua', true, true)) do
    local source = path:find('/test/') and '' or suite.read(path)
    for name in source:gmatch(pattern) do
      names[name] = true
    end
  end
  return vim.tbl_keys(names)
end

function tests.options_have_types()
  local source = suite.read(suite.plugin .. '/lua/pi/config.lua')
  for name in pairs(require('pi.config').options) do
    check(source:find('---@field ' .. name .. ' ', 1, true), name .. ' is not in pi.Options')
  end
end

function tests.highlights()
  require('pi.highlight').setup()
  require('pi.signs')
  local groups = vim.fn.getcompletion('Pi', 'highlight')
  check(vim.tbl_contains(groups, 'PiUser') and vim.tbl_contains(groups, 'PiAdd'), 'not loaded')
  equal(
    missing(vim.tbl_map(function(name)
      return 'hl-' .. name
    end, groups)),
    {}
  )
end

function tests.events()
  local events = vim.list_extend(named("{ '(Pi%u%a+)'"), named("user%('(Pi%u%a+)'"))
  check(#events > 5, 'the events were not found')
  equal(missing(events), {})
end

function tests.maps()
  local maps = vim.tbl_filter(function(map)
    return map.lhs:find('^<Plug>%(pi%-')
  end, vim.list_extend(vim.api.nvim_get_keymap('n'), vim.api.nvim_get_keymap('x')))
  check(#maps > 3, 'the maps were not found')
  equal(
    missing(vim.tbl_map(function(map)
      return map.lhs
    end, maps)),
    {}
  )
end

function tests.keys_of_the_conversation()
  for _, key in ipairs(require('pi.keys').list) do
    local lhs = vim.pesc(key[1])
    check(
      text:find('\n' .. lhs .. ' ') or text:find('\n[^\n]* ' .. lhs .. ' '),
      key[1] .. ' is not in the help'
    )
  end
end

function tests.nothing_is_documented_that_is_not_there()
  local commands, options = require('pi.command').all(), require('pi.config').options
  for tag in pairs(tags()) do
    local name = tag:match('^:Pi%-(.+)$')
    check(not name or commands[name], tag .. ' is not a subcommand')
    name = tag:match('^pi%-option%-(.+)$')
    check(not name or options[name], tag .. ' is not an option')
  end
end

function tests.links_lead_somewhere()
  local found = tags()
  for link in text:gmatch('|([^|%s]+)|') do
    if link:find('^:?[Pp]i') then
      check(found[link], '|' .. link .. '| leads nowhere')
    end
  end
end

function tests.lines_fit()
  local number = 0
  for line in vim.gsplit(text, '\n') do
    number = number + 1
    check(vim.fn.strdisplaywidth(line) <= 78, ('line %d is too long'):format(number))
    check(not line:find('%s$'), ('line %d ends with a blank'):format(number))
  end
end

suite.run()
