-- What :Pi does. Options, all of them optional: vim.g.pi = { bin, model, yolo, agent_dir }.

local api = vim.api
local M = {}

local function start()
  local rpc = require('pi.rpc')
  if rpc.running() then
    return
  end
  local options = vim.g.pi or {}
  rpc.start({
    cwd = vim.fn.getcwd(),
    agent_dir = options.agent_dir,
    model = options.model,
    yolo = options.yolo == true or options.yolo == 1,
  })
end

-- Shows the conversation in a window; the focus stays where it is.
function M.open()
  local buf = require('pi.session').buffer()
  if #vim.fn.win_findbuf(buf) == 0 then
    local before = api.nvim_get_current_win()
    vim.cmd('botright vertical sbuffer ' .. buf)
    vim.wo.linebreak = true
    api.nvim_win_set_cursor(0, { api.nvim_buf_line_count(buf), 0 })
    api.nvim_set_current_win(before)
  end
end

-- Sends a text; while the agent works, it waits until the work is done.
function M.ask(text)
  if text:match('^%s*$') then
    return
  end
  start()
  M.open()
  require('pi.rpc').notify('prompt', { text = text })
end

local subcommands = {
  open = M.open,
  abort = function()
    require('pi.rpc').notify('abort')
  end,
  allow = function()
    require('pi.session').answer('once')
  end,
  always = function()
    require('pi.session').answer('session')
  end,
  deny = function()
    require('pi.session').answer('deny')
  end,
  stop = function()
    require('pi.rpc').stop()
  end,
}

-- The command: one of the words above, or a text for the agent.
function M.command(text)
  local ok, err
  if subcommands[text] then
    ok, err = pcall(subcommands[text])
  else
    ok, err = pcall(M.ask, text)
  end
  if not ok then
    vim.notify('pi: ' .. tostring(err), vim.log.levels.ERROR)
  end
end

function M.complete(lead)
  local names = vim.tbl_keys(subcommands)
  table.sort(names)
  return vim.tbl_filter(function(name)
    return vim.startswith(name, lead)
  end, names)
end

return M
