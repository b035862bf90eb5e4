-- A word to the user that never needs a key: one short line, and of several in a moment
-- only the worst, or the last of these. Whoever replaced vim.notify gets them all and whole.

local interrupt = require('pi.interrupt')

local BUSY_MS = 100

local waiting

-- Whether it is Neovim's own, of vim/_editor.lua or vim/_core/editor.lua, whenever this is
-- loaded.
local function is_builtin()
  local source = debug.getinfo(vim.notify, 'S').source
  return source:find('vim/_editor.lua', 1, true) or source:find('vim/_core/editor.lua', 1, true)
end

local function cut(text)
  local room = math.max(vim.o.columns - 14, 20)
  text = text:gsub('%s*\n%s*', '; ')
  if vim.fn.strdisplaywidth(text) <= room then
    return text
  end
  return vim.fn.strcharpart(text, 0, room - 1) .. '…'
end

local highlights = { [vim.log.levels.WARN] = 'WarningMsg', [vim.log.levels.ERROR] = 'ErrorMsg' }

-- What is typed in the command line is not written over.
local function is_busy()
  local mode = vim.api.nvim_get_mode()
  return mode.blocking or mode.mode:find('^[cr]') ~= nil
end

local show

show = interrupt.wrap(function()
  if vim.v.exiting ~= vim.NIL then
    return
  elseif is_busy() then
    vim.defer_fn(show, BUSY_MS)
    return
  end
  local text, level = unpack(waiting)
  waiting = nil
  vim.cmd('redraw')
  vim.api.nvim_echo({ { cut(text), highlights[level] } }, true, {})
end)

--- Tells the user. May be called anywhere but in a fast context.
---@param text string
---@param level number|nil of vim.log.levels
return function(text, level)
  text = 'pi: ' .. text:gsub('^pi: ', '')
  if not is_builtin() then
    vim.schedule(function()
      vim.notify(text, level or vim.log.levels.INFO, { title = 'pi' })
    end)
    return
  end
  level = level or vim.log.levels.INFO
  if not waiting then
    vim.defer_fn(show, 20)
  end
  if not waiting or level >= waiting[2] then
    waiting = { text, level }
  end
end
