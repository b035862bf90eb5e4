-- The options: vim.g.pi, read when they are needed, over the defaults.

local M = {}

local function one_of(...)
  local words = { ... }
  return function(value)
    return vim.tbl_contains(words, value), 'one of ' .. table.concat(words, ', ')
  end
end

local function of_type(...)
  local types = { ... }
  return function(value)
    return vim.tbl_contains(types, type(value)), 'a ' .. table.concat(types, ' or a ')
  end
end

local function list(value)
  local ok = type(value) == 'table'
  for _, item in pairs(ok and value or {}) do
    ok = ok and type(item) == 'string'
  end
  return ok, 'a list of texts'
end

-- Either of two checks.
local function either(a, b)
  return function(value)
    local ok, words = a(value)
    local too, others = b(value)
    return ok or too, words .. ' or ' .. others
  end
end

local text, flag, number = of_type('string'), of_type('boolean'), of_type('number')

--- What vim.g.pi may hold; :help pi-options says what each means.
---@class pi.Options
---@field bin string|nil
---@field address string|nil
---@field agent_dir string|nil
---@field session_dir string|nil
---@field model string|nil
---@field provider string|nil
---@field thinking 'off'|'minimal'|'low'|'medium'|'high'|'xhigh'|nil
---@field tools string|string[]|nil
---@field system_prompt string|nil
---@field append_system_prompt string[]|nil
---@field no_context_files boolean|nil
---@field no_session boolean|nil
---@field permissions 'ask'|'yolo'|nil
---@field review 'after'|'before'|nil
---@field restrict string|nil
---@field log string|nil
---@field bash_save 'ask'|'always'|'never'|nil
---@field signs 'bar'|'text'|nil
---@field position 'right'|'bottom'|'tab'|'float'|'auto'|nil
---@field width number|nil
---@field height number|nil
---@field input_height number|nil
---@field open_on_ask boolean|nil

-- Name -> { check, default }. What has no default is left to the agent.
M.options = {
  bin = { text },
  address = { text }, -- the socket of a pi-nvim that listens
  agent_dir = { text },
  session_dir = { text },
  model = { text },
  provider = { text },
  thinking = { one_of('off', 'minimal', 'low', 'medium', 'high', 'xhigh') },
  tools = { either(text, list) }, -- the agent's own, or more of Neovim's
  system_prompt = { text },
  append_system_prompt = { list },
  no_context_files = { flag },
  no_session = { flag },
  permissions = { one_of('ask', 'yolo'), 'ask' },
  review = { one_of('after', 'before'), 'after' },
  restrict = { text },
  log = { text },
  bash_save = { one_of('ask', 'always', 'never'), 'ask' },
  signs = { one_of('bar', 'text') },
  position = { one_of('right', 'bottom', 'tab', 'float', 'auto'), 'auto' },
  width = { number, 80 },
  height = { number, 15 },
  input_height = { number, 4 },
  open_on_ask = { flag, true },
}

-- Vim script has no booleans in older texts: 0 and 1 are meant.
local function normal(name, value)
  if M.options[name] and M.options[name][1] == flag and (value == 0 or value == 1) then
    return value == 1
  end
  return value
end

--- All that is wrong with vim.g.pi, in words.
---@return string[]
function M.problems()
  local given, problems = vim.g.pi, {}
  if given ~= nil and type(given) ~= 'table' then
    return { 'vim.g.pi must be a table' }
  end
  for name, value in pairs(given or {}) do
    local option = M.options[name]
    if not option then
      table.insert(problems, ('vim.g.pi has an unknown option "%s"'):format(name))
    else
      local ok, wanted = option[1](normal(name, value))
      if not ok then
        table.insert(problems, ('vim.g.pi.%s must be %s'):format(name, wanted))
      end
    end
  end
  table.sort(problems)
  return problems
end

--- One option, or its default when what is given is wrong.
---@param name string
function M.get(name)
  local option = M.options[name]
  local given = type(vim.g.pi) == 'table' and vim.g.pi[name]
  if given ~= nil and given ~= false or given == false and option[1] == flag then
    local value = normal(name, given)
    if option[1](value) then
      return value
    end
  end
  return option[2]
end

local told

--- Tells once of what is wrong.
function M.tell_problems()
  local problems = M.problems()
  local all = table.concat(problems, '; ')
  if all ~= '' and all ~= told then
    told = all
    require('pi.notify')(all, vim.log.levels.WARN)
  end
end

return M
