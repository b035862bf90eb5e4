-- With review = 'before': a change that waits for an answer, shown in the buffer it is for as
-- virtual text. Nothing of it is in the buffer, so saving does not accept it.

local api = vim.api
local bus = require('pi.bus')
local hunks = require('pi.hunks')
local signs = require('pi.signs')
local M = {}

local namespace = api.nvim_create_namespace('pi-proposal')

local proposals = {} -- id of the question -> { buf, marks }

-- The row of the lines that a hunk would replace; moved is what earlier hunks would add.
local function row_of(lines, h, moved)
  local expected = h.row - moved
  return #h.old > 0 and hunks.locate(lines, h, h.old, expected) or math.min(expected, #lines)
end

local function mark(proposal, row, options)
  local last = api.nvim_buf_line_count(proposal.buf) - 1
  row = math.max(math.min(row, last), 0)
  local id = api.nvim_buf_set_extmark(proposal.buf, namespace, row, 0, options)
  table.insert(proposal.marks, id)
end

local function draw_hunk(proposal, h, row)
  for i = 0, #h.old - 1 do
    mark(proposal, row + i, {
      sign_text = '-?',
      sign_hl_group = 'PiDelete',
      end_row = row + i + 1,
      hl_group = 'PiRemoved',
      hl_eol = true,
      priority = 200,
    })
  end
  if #h.new > 0 then
    local lines = signs.virtual(proposal.buf, h.new, 'PiProposed', '+ ')
    local above = #h.old == 0 and row < api.nvim_buf_line_count(proposal.buf)
    local options = { virt_lines = lines, virt_lines_above = above }
    if #h.old == 0 then
      options.sign_text, options.sign_hl_group = '+?', 'PiAdd'
    end
    mark(proposal, #h.old == 0 and row or row + #h.old - 1, options)
    if above and row == 0 then
      signs.make_room(proposal.buf, #lines)
    end
  end
end

--- Shows what a unified diff would do to a buffer.
function M.show(id, buf, diff)
  local proposal = { buf = buf, marks = {} }
  proposals[id] = proposal
  local lines, moved = require('pi.change').lines(buf), 0
  for _, h in ipairs(hunks.parse(diff)) do
    draw_hunk(proposal, h, row_of(lines, h, moved))
    moved = moved + #h.new - #h.old
  end
end

--- Takes it away again.
function M.hide(id)
  local proposal = proposals[id]
  proposals[id] = nil
  if proposal and api.nvim_buf_is_valid(proposal.buf) then
    for _, extmark in ipairs(proposal.marks) do
      api.nvim_buf_del_extmark(proposal.buf, namespace, extmark)
    end
  end
end

bus.on('permission_request', function(event)
  local buf = event.diff and require('pi.buffer').find(event.path)
  if buf then
    M.show(event.id, buf, event.diff)
  end
end)

bus.on('permission_end', function(event)
  M.hide(event.id)
end)

bus.on('session_end', function()
  for id in pairs(proposals) do
    M.hide(id)
  end
end)

return M
