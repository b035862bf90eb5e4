-- The Neovim that kill.sh kills: brings the agent into the state $STATE, and then says so by
-- writing the file $REACHED, or quits when $WAY is "quit".

local reached = false
local function reach()
  if reached then
    return
  end
  reached = true
  vim.schedule(function()
    local session = require('pi.session').current()
    vim.fn.writefile({ session.file }, vim.env.REACHED)
    if vim.env.WAY == 'quit' then
      vim.cmd('qall!')
    end
  end)
end

local events = {
  idle = 'agent_end',
  streaming = 'message_update',
  bash = 'tool_execution_update',
  question = 'permission_request',
}
require('pi').on(events[vim.env.STATE], function(event)
  -- The last thing that the command prints.
  if vim.env.STATE ~= 'bash' or event.delta:find('started') then
    reach()
  end
end)
require('pi').on('notice', function(event)
  io.stderr:write(event.message, '\n')
end)

vim.g.pi = {
  bin = vim.env.PI_NVIM,
  model = 'replay:' .. vim.env.TURNS,
  permissions = vim.env.STATE == 'question' and 'ask' or 'yolo',
}
vim.cmd('Pi the prompt of ' .. vim.env.STATE)
