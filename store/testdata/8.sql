INSERT INTO turn_usage (id, window, used, counted, estimated, context, factor) VALUES (1 << 32 | 3, 4096, 900, 800, 790, 10, 1.2);
