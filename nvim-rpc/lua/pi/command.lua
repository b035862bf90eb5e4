-- The command :Pi and the table of its subcommands. A part adds its own with register();
-- the parts are loaded when :Pi is used or completed for the first time.

local M = {}

local subcommands = {}

local function load_parts()
  for _, name in ipairs({ 'pi.subcommands', 'pi.edits', 'pi.follow' }) do
    require(name)
  end
end

---@class pi.Command what a subcommand gets
---@field args string the text behind the subcommand
---@field words string[] its words
---@field bang boolean
---@field range number 0 when no range was given
---@field line1 number
---@field line2 number

---@class pi.Subcommand
---@field run fun(command: pi.Command)
---@field complete nil|fun(lead: string, words: string[]): string[] words: those before lead
---@field range boolean|nil whether it takes a range
---@field bang boolean|nil whether it takes a "!"
---@field desc string

--- Adds a subcommand, or replaces one.
---@param name string
---@param spec pi.Subcommand
function M.register(name, spec)
  subcommands[name] = spec
end

--- All subcommands by name.
---@return table<string, pi.Subcommand>
function M.all()
  load_parts()
  return subcommands
end

local function check(name, spec, command)
  if command.bang and not spec.bang then
    error((':Pi! %s: there is no such form'):format(name), 0)
  elseif command.range > 0 and not spec.range then
    error((':Pi %s takes no range; ":Pi ask %s …" is a question'):format(name, name), 0)
  end
end

local function run(options)
  local name, rest = options.args:match('^%s*(%S+)%s*(.*)$')
  local plain = name and name:match('^(.*)!$') -- ":Pi accept!" is ":Pi! accept"
  local bang = plain and M.all()[plain] and M.all()[plain].bang
  name = bang and plain or name
  local spec = name and M.all()[name]
  local command = {
    args = spec and rest or options.args,
    bang = bang or options.bang,
    range = options.range,
    line1 = options.line1,
    line2 = options.line2,
  }
  if not spec then
    spec = M.all()[(name or command.range > 0 or command.bang) and 'ask' or 'toggle']
  else
    check(name, spec, command)
  end
  command.words = vim.split(command.args, '%s+', { trimempty = true })
  spec.run(command)
end

--- Runs :Pi with what nvim_create_user_command() gives.
function M.run(options)
  local ok, err = pcall(run, options)
  if not ok then
    require('pi.notify')(tostring(err), vim.log.levels.ERROR)
  end
end

--- Runs ":Pi words".
---@param words string
function M.call(words)
  M.run({ args = words, bang = false, range = 0, line1 = 0, line2 = 0 })
end

--- Completes :Pi; line is the whole command line.
---@return string[]
function M.complete(lead, line, pos)
  local before = line:sub(1, pos):match('Pi!?%s+(.*)$') or ''
  local words = vim.split(before:sub(1, #before - #lead), '%s+', { trimempty = true })
  if #words == 0 and not lead:find('^@') then
    local names = vim.tbl_keys(M.all())
    table.sort(names)
    return require('pi.complete').starting_with(names, lead)
  end
  local spec = M.all()[words[1]] or M.all().ask
  local ok, found = pcall(spec.complete or function() end, lead, vim.list_slice(words, 2))
  return ok and found or {}
end

return M
