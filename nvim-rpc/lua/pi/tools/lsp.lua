-- Questions to the language servers of open files. Nothing here changes anything.

local api = vim.api
local place = require('pi.tools.place')
local M = {}

--- The language servers of a buffer.
function M.clients(buf)
  if vim.lsp.get_clients then
    return vim.lsp.get_clients({ bufnr = buf })
  end
  return vim.tbl_values(vim.lsp.buf_get_clients(buf))
end

local function client_for(buf, method, path)
  local clients = M.clients(buf)
  if #clients == 0 then
    error(('no language server is attached to %s'):format(path), 0)
  end
  for _, client in ipairs(clients) do
    if client.supports_method(method) then
      return client
    end
  end
  error(('the language server of %s does not support %s'):format(path, method), 0)
end

-- A column in the units of the server.
local function character(client, line, col)
  if client.offset_encoding == 'utf-8' then
    return col
  end
  local utf32, utf16 = vim.str_utfindex(line, col)
  return client.offset_encoding == 'utf-32' and utf32 or utf16
end

-- Asks the server about the place that args name: done(result, err) gets what format makes
-- of the answer.
local function ask(method, args, ctx, more, done)
  local buf = place.buffer(args.path, ctx.cwd)
  local row, col = place.position(buf, args.line, args.symbol)
  local client = client_for(buf, method, args.path)
  local line = api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  local params = vim.tbl_extend('force', {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    position = { line = row, character = character(client, line, col) },
  }, more)
  client.request(method, params, function(err, result)
    if err then
      done(nil, err.message or vim.inspect(err))
    else
      vim.schedule(function()
        done(result)
      end)
    end
  end, buf)
end

local function place_line(uri, range, cwd)
  local path = vim.uri_to_fname(uri)
  local row = range.start.line
  local text = vim.trim(place.line_of(path, row))
  return ('%s:%d: %s'):format(place.relative(path, cwd), row + 1, text)
end

-- A Location, a list of them, or LocationLinks.
local function locations(result, cwd)
  if type(result) ~= 'table' then
    return {}
  end
  local list = (result.uri or result.targetUri) and { result } or result
  return vim.tbl_map(function(l)
    return place_line(l.uri or l.targetUri, l.range or l.targetSelectionRange, cwd)
  end, list)
end

local function finding(method, more, nothing)
  return function(args, ctx, done)
    ask(method, args, ctx, more, function(result, err)
      if err then
        done(nil, err)
        return
      end
      local lines = locations(result, ctx.cwd)
      done(#lines > 0 and table.concat(lines, '\n') or nothing)
    end)
  end
end

-- The edits of a WorkspaceEdit as { uri, edits } for each file.
local function by_file(edit)
  local list = {}
  for uri, edits in pairs(edit.changes or {}) do
    table.insert(list, { uri, edits })
  end
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      table.insert(list, { change.textDocument.uri, change.edits })
    end
  end
  table.sort(list, function(a, b)
    return a[1] < b[1]
  end)
  return list
end

local function preview(edit, cwd)
  local lines, count = {}, 0
  for _, file in ipairs(by_file(edit or {})) do
    for _, e in ipairs(file[2]) do
      count = count + 1
      table.insert(lines, place_line(file[1], e.range, cwd))
    end
  end
  if count == 0 then
    return 'Nothing would be renamed.'
  end
  table.insert(lines, 1, ('Would change %d places; nothing was changed yet:'):format(count))
  return table.concat(lines, '\n')
end

local function schema(more)
  local properties = {
    path = { type = 'string', description = 'A file that is open in the editor' },
    line = { type = 'integer', description = 'The line of the symbol, from 1' },
    symbol = { type = 'string', description = 'The symbol as it stands in that line' },
  }
  local required = { 'path', 'line', 'symbol' }
  for name, property in pairs(more or {}) do
    properties[name] = property
    table.insert(required, name)
  end
  return { type = 'object', properties = properties, required = required }
end

M.lsp_definition = {
  name = 'lsp_definition',
  label = 'Definition',
  description = 'Asks the language server where a symbol is defined.',
  parameters = schema(),
  snippet = 'where a symbol is defined, by the language server',
  title = 'definition of {symbol}',
  reads = true,
  run = finding('textDocument/definition', {}, 'The language server knows no definition.'),
}

M.lsp_references = {
  name = 'lsp_references',
  label = 'References',
  description = 'Asks the language server for all uses of a symbol, also in other files.',
  parameters = schema(),
  snippet = 'all uses of a symbol, by the language server',
  title = 'references to {symbol}',
  reads = true,
  run = finding(
    'textDocument/references',
    { context = { includeDeclaration = true } },
    'The language server knows no references.'
  ),
}

M.lsp_rename_preview = {
  name = 'lsp_rename_preview',
  label = 'Rename (preview)',
  description = 'Asks the language server what renaming a symbol would change. Changes '
    .. 'nothing: make the changes with edit.',
  parameters = schema({ newName = { type = 'string', description = 'The new name' } }),
  snippet = 'what renaming a symbol would change, by the language server',
  title = 'rename {symbol} to {newName}? (preview)',
  reads = true,
  run = function(args, ctx, done)
    ask('textDocument/rename', args, ctx, { newName = args.newName }, function(result, err)
      if err then
        done(nil, err)
      else
        done(preview(result, ctx.cwd))
      end
    end)
  end,
}

return M
