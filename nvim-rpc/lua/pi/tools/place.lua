-- What the shipped tools share: files and places by the words of the model.

local api = vim.api
local uv = vim.uv or vim.loop
local M = {}

--- The open buffer of a file, else an error for the model.
function M.buffer(path, cwd)
  local full = path:find('^/') and path or cwd .. '/' .. path
  local buf = require('pi.buffer').find(uv.fs_realpath(full) or full)
  if not buf then
    error(('%s is not open in Neovim, and only open files can be asked about'):format(path), 0)
  end
  return buf
end

--- A path for the model.
function M.relative(path, cwd)
  local below = (uv.fs_realpath(cwd) or cwd):gsub('/*$', '/')
  return vim.startswith(path, below) and path:sub(#below + 1) or path
end

--- Row and column (bytes, from 0) of a symbol in a line (from 1); without one, of its first
--- word.
function M.position(buf, line, symbol)
  local count = api.nvim_buf_line_count(buf)
  if type(line) ~= 'number' or line < 1 or line > count then
    error(('line: the file has the lines 1 to %d'):format(count), 0)
  end
  local text = api.nvim_buf_get_lines(buf, line - 1, line, true)[1]
  local col
  if symbol and symbol ~= '' then
    col = text:find('%f[%w_]' .. vim.pesc(symbol) .. '%f[^%w_]') or text:find(symbol, 1, true)
  else
    col = text:find('%S') or 1
  end
  if not col then
    error(('symbol: "%s" is not in line %d, which reads: %s'):format(symbol, line, text), 0)
  end
  return line - 1, col - 1
end

--- A line of a file (row from 0), open or not.
function M.line_of(path, row)
  local buf = require('pi.buffer').find(path)
  if buf then
    return api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ''
  end
  local ok, lines = pcall(vim.fn.readfile, path, '', row + 1)
  return ok and lines[row + 1] or ''
end

return M
