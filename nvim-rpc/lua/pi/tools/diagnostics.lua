-- What language servers and linters say about open files.

local api = vim.api
local place = require('pi.tools.place')
local M = {}

local names = { 'error', 'warning', 'info', 'hint' }

local function line_of(d, cwd)
  local path = place.relative(api.nvim_buf_get_name(d.bufnr), cwd)
  local source = d.source and (' [%s]'):format(d.source) or ''
  local message = d.message:gsub('%s*\n%s*', ' ')
  return ('%s:%d:%d: %s: %s%s'):format(
    path,
    d.lnum + 1,
    d.col + 1,
    names[d.severity] or 'note',
    message,
    source
  )
end

local function clients_of(buf)
  return require('pi.tools.lsp').clients(buf)
end

local function run(args, ctx)
  local buf = args.path and place.buffer(args.path, ctx.cwd) or nil
  local list = vim.tbl_filter(function(d)
    return api.nvim_buf_is_valid(d.bufnr) and api.nvim_buf_get_name(d.bufnr) ~= ''
  end, vim.diagnostic.get(buf))
  table.sort(list, function(a, b)
    if a.bufnr ~= b.bufnr then
      return a.bufnr < b.bufnr
    end
    return a.lnum < b.lnum
  end)
  if #list > 0 then
    return table.concat(
      vim.tbl_map(function(d)
        return line_of(d, ctx.cwd)
      end, list),
      '\n'
    )
  elseif buf and #clients_of(buf) == 0 then
    return ('No diagnostics; no language server is attached to %s.'):format(args.path)
  end
  return 'No diagnostics.'
end

M.diagnostics = {
  name = 'diagnostics',
  label = 'Diagnostics',
  description = 'Errors and warnings that language servers and linters report about the '
    .. 'files that are open in the editor, or one of them. They may lag behind a change by '
    .. 'some seconds.',
  parameters = {
    type = 'object',
    properties = { path = { type = 'string', description = 'Only those of this file' } },
  },
  snippet = 'errors and warnings that the editor knows',
  title = 'diagnostics {path}',
  reads = true,
  run = run,
}

return M
