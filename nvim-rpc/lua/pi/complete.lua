-- What may stand at a place of :Pi and of the input.

local M = {}

local WAIT_MS = 1500 -- for an answer, at most

function M.starting_with(names, lead)
  return vim.tbl_filter(function(name)
    return vim.startswith(name:lower(), lead:lower())
  end, names)
end

--- Mentions: @buffer and so on, and @paths of the session's directory.
function M.mentions(lead)
  if not lead:find('^@') then
    return {}
  end
  local context = require('pi.context')
  local names = M.starting_with(
    vim.tbl_map(function(word)
      return '@' .. word
    end, context.words),
    lead
  )
  local session = require('pi.session').current()
  local cwd = session and session.cwd or vim.fn.getcwd()
  return vim.list_extend(
    names,
    vim.tbl_map(function(path)
      return '@' .. path
    end, M.paths(lead:sub(2), cwd))
  )
end

--- Paths, seen from a directory.
function M.paths(lead, cwd)
  local absolute = lead:find('^[/~]')
  local full = absolute and lead or cwd .. '/' .. lead
  return vim.tbl_map(function(path)
    return absolute and path or require('pi.context').short(path, cwd)
  end, vim.fn.getcompletion(full, 'file'))
end

-- Runs ask(done) and waits until done(value) was called, but not long.
local function wait_for(ask)
  local value
  ask(function(v)
    value = v
  end)
  vim.wait(WAIT_MS, function()
    return value ~= nil
  end, 10)
  return value or {}
end

--- Calls done(models) with those that can be asked.
function M.with_models(session, done)
  local off
  off = require('pi.bus').on('model_list', function(event, other)
    if other == session then
      off()
      done(vim.tbl_filter(function(model)
        return model.available
      end, event.models))
    end
  end)
  session:call('list_models', {}, function(err)
    if err then
      off()
      done({})
    end
  end)
end

function M.model_name(model)
  return model.provider .. '/' .. model.id
end

--- Models; any part of the name will do.
function M.models(lead)
  local session = require('pi.session').ensure()
  session.models = session.models or wait_for(function(done)
    M.with_models(session, done)
  end)
  return vim.tbl_filter(function(name)
    return name:lower():find(lead:lower(), 1, true) ~= nil
  end, vim.tbl_map(M.model_name, session.models))
end

M.levels = { 'off', 'minimal', 'low', 'medium', 'high', 'xhigh' }

-- The shortest beginning of an id that no other one has, but 8 at least.
local function short_id(id, all)
  for length = 8, #id do
    local same = 0
    for _, other in ipairs(all) do
      same = same + (other.id:sub(1, length) == id:sub(1, length) and 1 or 0)
    end
    if same <= 1 then
      return id:sub(1, length)
    end
  end
  return id
end

--- "0193abcd:fix-the-tests": what :Pi resume takes for a session.
function M.session_name(session, all)
  local title = session.name or session.firstMessage or ''
  title = title:gsub('[%s%c:|]+', '-'):gsub('^%-+', '')
  return short_id(session.id, all) .. ':' .. vim.fn.strcharpart(title, 0, 40)
end

function M.sessions(lead)
  local all = wait_for(function(done)
    require('pi.session').list(vim.fn.getcwd(), function(_, sessions)
      done(sessions or {})
    end)
  end)
  return M.starting_with(
    vim.tbl_map(function(session)
      return M.session_name(session, all)
    end, all),
    lead
  )
end

return M
